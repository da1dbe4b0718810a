/**
 * The declarations of the package, bundled like its JavaScript. They exist once, for CommonJS; those of the ES modules export them again. An
 * ES module may import CommonJS in every version of TypeScript, and the other way round it may not. So a project that mixes both formats has one
 * `Policy` and not two that do not fit.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { ROOT } from '../tools.ts'
import { libraryEntries } from './layout.ts'

export async function buildDeclarations(folder: string): Promise<void> {
	const build = await rolldown({
		input: libraryEntries(),
		external: [/^node:/, 'pg'],
		cwd: ROOT,
		checks: { bundlerTimings: false },
		// By Oxc and not by the compiler: isolatedDeclarations makes that possible, and it takes half a second.
		plugins: dts({ emitDtsOnly: true, generator: 'oxc', tsconfig: join(ROOT, 'tsconfig.build.json') }),
	})
	const { output } = await build.generate({ format: 'es', chunkFileNames: 'types/[name].js' })
	await build.close()
	for (const file of output) {
		if (file.type !== 'chunk') continue
		const name = file.fileName.replace(/\.d\.ts$/, '')
		write(join(folder, `${name}.d.cts`), toCommonJS(file.code))
		if (file.isEntry) write(join(folder, `${name}.d.ts`), `export * from './${posix.basename(name)}.cjs'\n`)
	}
}

/**
 * Tabs instead of spaces, no imports of which no type is left (they would need Node's types), and no comments about whole files: only the last
 * comment before a declaration is about the declaration.
 */
const toCommonJS = (code: string): string =>
	code
		.replaceAll(/( from ["']\.[^"']*)\.js(?=["'])/g, '$1.cjs')
		.replaceAll(/^import ["']node:[^"']*["'];\n/gm, '')
		.replaceAll(/^( {2})+/gm, (spaces) => '\t'.repeat(spaces.length / 2))
		.replaceAll(/^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(?=\/\*\*)/gm, '')

function write(file: string, text: string): void {
	mkdirSync(dirname(file), { recursive: true })
	writeFileSync(file, text)
}
