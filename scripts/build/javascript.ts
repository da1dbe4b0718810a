/** The JavaScript of the package: ES modules for all, and CommonJS for Jest and for `require` in old versions of Node. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type OutputChunk, type Plugin, type RolldownBuild, rolldown } from 'rolldown'
import { ROOT } from '../tools.ts'
import { breakLines, markPure } from './finish.ts'
import {
	COMMAND_ENTRIES,
	chunkOf,
	libraryEntries,
	OFF_CALL_PATH,
	ONCE,
	PAGE_DATA,
	sourcePath,
} from './layout.ts'

type Format = 'es' | 'cjs'

/** Names of functions, classes and properties stay, so that stacks and `error.name` are readable. Variables become short. */
const COMPACT = {
	compress: true,
	mangle: { toplevel: true, keepNames: true },
	codegen: { removeWhitespace: true },
}

/** Compact are the CommonJS copies of ES modules, which only Jest and old versions of Node load, and `OFF_CALL_PATH`. */
export async function buildJavaScript(folder: string): Promise<void> {
	const [{ modules, compactModules }, { scripts, compact }] = await Promise.all([
		bundle('es', async (build) => ({
			modules: await generate(build, 'es'),
			compactModules: await generate(build, 'es', COMPACT),
		})),
		bundle('cjs', async (build) => ({
			scripts: await generate(build, 'cjs'),
			compact: await generate(build, 'cjs', COMPACT),
		})),
	])
	const files = new Map([
		...modules.map((chunk) => [chunk.fileName, markPure(chunk)] as const),
		...compactModules
			.filter(({ name }) => OFF_CALL_PATH.includes(name))
			.map((chunk) => [chunk.fileName, breakLines({ ...chunk, code: markPure(chunk) })] as const),
		...compact.filter(isKept).map((chunk) => [chunk.fileName, breakLines(chunk)] as const),
		...ONCE.map((name) => {
			if (!OFF_CALL_PATH.includes(name))
				return [scriptOf(name), withConditions(name, modules, scripts)] as const
			const code = breakLines(find(compact, scriptOf(name)))
			const broken = compact.map((chunk) => (chunk.name === name ? { ...chunk, code } : chunk))
			return [scriptOf(name), withConditions(name, modules, broken)] as const
		}),
		...ONCE.map((name) => [moduleOf(name), wrapper(find(modules, moduleOf(name)))] as const),
	])
	for (const [name, code] of files) {
		const file = join(folder, name)
		mkdirSync(dirname(file), { recursive: true })
		writeFileSync(file, code)
	}
}

async function bundle<Output>(
	format: Format,
	use: (build: RolldownBuild) => Promise<Output>,
): Promise<Output> {
	const build = await rolldown({
		input: { ...libraryEntries(), ...COMMAND_ENTRIES },
		external: [/^node:/, 'pg'],
		platform: 'node',
		cwd: ROOT,
		plugins: [withPage, ...(format === 'cjs' ? [withoutTopLevelAwait] : [])],
		preserveEntrySignatures: 'allow-extension',
		onLog(level, log, report) {
			if (log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') report(level, log)
		},
	})
	const output = await use(build)
	await build.close()
	return output
}

async function generate(
	build: RolldownBuild,
	format: Format,
	minify: typeof COMPACT | false = false,
): Promise<OutputChunk[]> {
	const extension = format === 'es' ? '.js' : '.cjs'
	const { output } = await build.generate({
		format,
		minify,
		comments: { legal: false, annotation: true, jsdoc: false },
		// Equal in both formats, because a chunk that exists once imports from either.
		minifyInternalExports: false,
		entryFileNames: `[name]${extension}`,
		chunkFileNames: ({ moduleIds }) =>
			`${moduleIds.some((id) => sourcePath(id)?.startsWith('cli/')) ? 'cli' : 'chunks'}/[name]${extension}`,
		codeSplitting: {
			includeDependenciesRecursively: false,
			groups: [{ name: chunkOf, debugName: 'folders' }],
		},
	})
	return output.filter((file) => file.type === 'chunk')
}

/** The command is an ES module only. It takes part in this build because of what it imports from the chunks. */
const withoutTopLevelAwait: Plugin = {
	name: 'without-top-level-await',
	transform: (code, id) =>
		Object.values(COMMAND_ENTRIES).includes(id) ? { code: code.replaceAll(/\bawait /g, '') } : undefined,
}

/** The package has the files of the page in a module: no program reads them from a folder, and bundlers find them. */
const withPage: Plugin = {
	name: 'with-page',
	async load(id) {
		if (id !== PAGE_DATA) return undefined
		// As the sources have it: the page that was built, or one that says that it was not.
		const { PAGE } = await import('../../src/dashboard/server/page-data.ts')
		return `export const PAGE = ${JSON.stringify(PAGE)}`
	},
}

const isKept = ({ fileName }: OutputChunk): boolean => !fileName.startsWith('cli/')

const moduleOf = (name: string): string => `chunks/${name}.js`
const scriptOf = (name: string): string => `chunks/${name}.cjs`

function find(chunks: readonly OutputChunk[], fileName: string): OutputChunk {
	const found = chunks.find((chunk) => chunk.fileName === fileName)
	if (!found) throw new Error(`The build has no ${fileName}.`)
	return found
}

/** Replaces the module of a chunk that exists once. */
function wrapper({ exports, name }: OutputChunk): string {
	return `import chunk from "./${name}.cjs";\nexport const { ${exports.join(', ')} } = chunk;\n`
}

/**
 * Lets the runtime choose the format of the chunks that exist in both. Both must export the same names then. The helpers of the bundler are
 * needed in CommonJS only.
 */
function withConditions(
	once: string,
	modules: readonly OutputChunk[],
	scripts: readonly OutputChunk[],
): string {
	const { code } = find(scripts, scriptOf(once))
	return code.replaceAll(/require\((["'`])\.\/([\w-]+)\.cjs\1\)/g, (all, quote, name) => {
		if (ONCE.includes(name) || name === 'rolldown-runtime') return all
		const [module, script] = [find(modules, moduleOf(name)), find(scripts, scriptOf(name))]
		const differing = [...module.exports, ...script.exports].filter(
			(one) => !(module.exports.includes(one) && script.exports.includes(one)),
		)
		if (differing.length > 0) throw new Error(`Two formats of ${name} differ: ${differing.join(', ')}`)
		return `require(${quote}#chunks/${name}${quote})`
	})
}
