/**
 * `npm run docs`: writes files of examples into the pages, and prints translations whose source has changed. A fence that starts with
 * "ts examples/outbox/server.ts" contains that file. With "#name" after the path, it contains the lines between `// #region name` and
 * `// #endregion`.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './tools.ts'

const INCLUDED = /^```(\w+) (examples\/\S+)\n.*?^```$/gms
const MARK = /^ *\/\/ #(?:end)?region.*\n/gm
const SOURCE = /^<!-- source: (\S+) sha256: (\w+) -->$/m

const readFile = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Returns the page with the current files. */
export const withFiles = (page: string, read = readFile): string =>
	page.replaceAll(
		INCLUDED,
		(_, language: string, path: string) => `\`\`\`${language} ${path}\n${included(path, read)}\`\`\``,
	)

function included(path: string, read: typeof readFile): string {
	const [file = '', region] = path.split('#')
	// Pages indent by two spaces.
	const text = read(file).replaceAll('\t', '  ')
	if (region === undefined) return text.replaceAll(MARK, '')
	const start = `// #region ${region}\n`
	const from = text.indexOf(start)
	const to = text.indexOf('// #endregion', from)
	if (from < 0 || to < 0) throw new Error(`${file} has no region ${region}`)
	return `${text.slice(from + start.length, to).trimEnd()}\n`
}

/** Returns one message per translation whose source has changed. A translation records the hash of its source. */
export function staleTranslations(read = readFile): string[] {
	return globSync('{*,docs/**/*}.ja.md', { cwd: ROOT }).flatMap((file) => {
		const [, source = '', recorded] = SOURCE.exec(read(file)) ?? []
		const current = createHash('sha256').update(read(source)).digest('hex')
		return recorded === current ? [] : [`${file}: ${source} has changed, sha256: ${current}`]
	})
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	for (const page of globSync('{*,docs/**/*}.md', { cwd: ROOT })) {
		const before = readFile(page)
		const after = withFiles(before)
		if (after !== before) writeFileSync(join(ROOT, page), after)
	}
	for (const line of staleTranslations()) console.log(line)
}
