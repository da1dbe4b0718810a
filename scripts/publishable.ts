/** Runs before `npm publish`: the address of the repository is a placeholder until there is one, and translations must be current. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { staleTranslations } from './docs.ts'
import { ROOT, readJson } from './tools.ts'

const PLACEHOLDER = 'github.com/OWNER/'

/** Returns the pages of the package: the README, which npm always packs, and those in `files` of package.json. */
export function packagedPages(): string[] {
	const { files } = readJson(join(ROOT, 'package.json')) as { files: string[] }
	return globSync(['README.md', ...files, ...files.map((folder) => `${folder}/**`)], { cwd: ROOT }).filter(
		(file) => file.endsWith('.md'),
	)
}

/** Returns the published files that still have the placeholder. */
export const withPlaceholder = (files: Readonly<Record<string, string>>): string[] =>
	Object.keys(files).filter((name) => files[name]?.includes(PLACEHOLDER))

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const files = ['package.json', ...packagedPages()].map((name) => [
		name,
		readFileSync(join(ROOT, name), 'utf8'),
	])
	const found = withPlaceholder(Object.fromEntries(files))
	const problems = staleTranslations()
	if (found.length > 0)
		problems.push(`Replace ${PLACEHOLDER} by the address of the repository in: ${found.join(', ')}`)
	if (problems.length > 0) {
		console.error(problems.join('\n'))
		process.exitCode = 1
	}
}
