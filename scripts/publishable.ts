/** Runs before `npm publish`: the address of the repository is a placeholder until there is one. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './tools.ts'

const PLACEHOLDER = 'github.com/OWNER/'

/** Returns the published files that still have the placeholder. */
export const withPlaceholder = (files: Readonly<Record<string, string>>): string[] =>
	Object.keys(files).filter((name) => files[name]?.includes(PLACEHOLDER))

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const files = ['package.json', 'README.md'].map((name) => [name, readFileSync(join(ROOT, name), 'utf8')])
	const found = withPlaceholder(Object.fromEntries(files))
	if (found.length > 0) {
		console.error(`Replace ${PLACEHOLDER} by the address of the repository in: ${found.join(', ')}`)
		process.exitCode = 1
	}
}
