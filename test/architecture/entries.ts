/** The entries of the package, from its manifest. */
import { relative, sep } from 'node:path'
import { COMMAND_ENTRIES, exportedSubpaths, libraryEntries } from '../../scripts/build/layout.ts'
import { ROOT } from '../../scripts/tools.ts'

/** Returns the source file of each subpath, and of the command: `./http` is `src/http/index.ts`. */
export function entryFiles(): ReadonlyMap<string, string> {
	const subpaths = exportedSubpaths().map(([subpath]) => subpath)
	const files = Object.values(libraryEntries()).map(
		(file, index) => [subpaths[index] ?? '', inRoot(file)] as const,
	)
	return new Map([...files, ['yaoki', inRoot(COMMAND_ENTRIES['cli/main'] ?? '')]])
}

const inRoot = (file: string): string => relative(ROOT, file).replaceAll(sep, '/')
