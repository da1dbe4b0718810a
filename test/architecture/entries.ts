/** The entries of the package, from its manifest. */
import { readFileSync } from 'node:fs'

interface Manifest {
	readonly exports: Readonly<Record<string, string | { readonly default: string }>>
	readonly bin: Readonly<Record<string, string>>
}

/** Returns the source file of each subpath and each command: `./http` is `src/http/index.ts`. */
export function entryFiles(): ReadonlyMap<string, string> {
	const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
	const { exports, bin }: Manifest = JSON.parse(text)
	const subpaths = Object.entries(exports).flatMap(([subpath, target]) =>
		typeof target === 'string' ? [] : [[subpath, toSource(target.default)] as const],
	)
	const commands = Object.entries(bin).map(([command, file]) => [command, toSource(file)] as const)
	return new Map([...subpaths, ...commands])
}

const toSource = (built: string): string => built.replace(/^\.\/dist\/(.*)\.js$/, 'src/$1.ts')
