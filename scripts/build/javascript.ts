/** The JavaScript of the package: ES modules for all, and CommonJS for Jest and for `require` in old versions of Node. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type OutputChunk, type Plugin, type RolldownBuild, rolldown } from 'rolldown'
import { ROOT } from '../tools.ts'
import { finish } from './finish.ts'
import { COMMAND_ENTRIES, chunkOf, libraryEntries, ONCE, sourcePath } from './layout.ts'

type Format = 'es' | 'cjs'

/** Names of functions, classes and properties stay, so that stacks and `error.name` are readable. Variables become short. */
const SHORT = { toplevel: true, keepNames: true }

export async function buildJavaScript(folder: string): Promise<void> {
	const [modules, scripts] = await Promise.all([bundle('es'), bundle('cjs')])
	const files = new Map([
		...modules.map(({ fileName, code }) => [fileName, code] as const),
		...scripts
			.filter(isKept)
			.map((chunk) => [chunk.fileName, withConditions(chunk, modules, scripts)] as const),
		...ONCE.map((name) => [moduleOf(name), wrapper(find(modules, moduleOf(name)))] as const),
	])
	for (const [name, code] of files) {
		const file = join(folder, name)
		mkdirSync(dirname(file), { recursive: true })
		writeFileSync(file, code)
	}
}

async function bundle(format: Format): Promise<OutputChunk[]> {
	const build = await rolldown({
		input: { ...libraryEntries(), ...COMMAND_ENTRIES },
		external: [/^node:/, 'pg'],
		platform: 'node',
		cwd: ROOT,
		plugins: format === 'cjs' ? [withoutTopLevelAwait] : [],
		preserveEntrySignatures: 'allow-extension',
		onLog(level, log, report) {
			if (log.code !== 'INEFFECTIVE_DYNAMIC_IMPORT') report(level, log)
		},
	})
	const chunks = await generate(build, format, SHORT)
	const named = await generate(build, format, false)
	await build.close()
	return chunks.map((chunk) => ({
		...chunk,
		code: finish(chunk.fileName, chunk.code, find(named, chunk.fileName).code),
	}))
}

async function generate(
	build: RolldownBuild,
	format: Format,
	mangle: typeof SHORT | false,
): Promise<OutputChunk[]> {
	const extension = format === 'es' ? '.js' : '.cjs'
	const { output } = await build.generate({
		format,
		minify: { compress: true, mangle, codegen: { removeWhitespace: true } },
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
	const names = exports.join(',')
	return `import chunk from"./${name}.cjs";export const{${names}}=chunk;`
}

/**
 * Lets the runtime choose the format of the chunks that exist in both. Both must export the same names then. The helpers of the bundler are
 * needed in CommonJS only.
 */
function withConditions(
	chunk: OutputChunk,
	modules: readonly OutputChunk[],
	scripts: readonly OutputChunk[],
): string {
	if (!ONCE.some((name) => chunk.fileName === scriptOf(name))) return chunk.code
	return chunk.code.replaceAll(/require\((["'`])\.\/([\w-]+)\.cjs\1\)/g, (all, quote, name) => {
		if (ONCE.includes(name) || name === 'rolldown-runtime') return all
		const [module, script] = [find(modules, moduleOf(name)), find(scripts, scriptOf(name))]
		const differing = [...module.exports, ...script.exports].filter(
			(one) => !(module.exports.includes(one) && script.exports.includes(one)),
		)
		if (differing.length > 0) throw new Error(`Two formats of ${name} differ: ${differing.join(', ')}`)
		return `require(${quote}#chunks/${name}${quote})`
	})
}
