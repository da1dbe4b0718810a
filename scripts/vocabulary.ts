/**
 * Vocabulary check: finds expressions of the old style in texts, comments and strings, so that they do not return. The
 * list is scripts/vocabulary.json. Each line of it is a pattern of whole words and what to write instead. `exceptions`
 * maps a file to lines that are allowed, quoted exactly; an exception that no longer occurs is an error.
 */
import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Vocabulary {
	/** Pattern of whole words, without case, and the replacement. */
	readonly expressions: Readonly<Record<string, string>>
	/** Files and folders to check, from the root. */
	readonly files: readonly string[]
	/** Allowed lines by file, trimmed. */
	readonly exceptions: Readonly<Record<string, readonly string[]>>
}

const CHECKED = /\.(tsx?|js|md|html|css)$/
const SKIPPED = /(^|\/)(node_modules|dist|\.cache)(\/|$)|words-ja\.ts$|^scripts\/vocabulary/

/** Returns one message per line that contains an expression, and per exception that no longer occurs. */
export function checkVocabulary(root: string, vocabulary: Vocabulary): string[] {
	const patterns = Object.entries(vocabulary.expressions).map(
		([words, instead]) => [new RegExp(`\\b(?:${words})\\b`, 'i'), instead] as const,
	)
	const messages: string[] = []
	const unused = new Map(Object.entries(vocabulary.exceptions).map(([file, lines]) => [file, new Set(lines)]))
	for (const file of vocabulary.files.flatMap((path) => textFiles(root, path))) {
		for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
			const found = patterns.flatMap(([pattern, instead]) => {
				const match = pattern.exec(line)
				return match ? [`"${match[0]}" (say: ${instead})`] : []
			})
			if (found.length === 0) continue
			if (vocabulary.exceptions[file]?.includes(line.trim())) unused.get(file)?.delete(line.trim())
			else messages.push(`${file}:${index + 1}: ${found.join(', ')}`)
		}
	}
	for (const [file, lines] of unused)
		for (const line of lines) messages.push(`${file}: exception that no longer occurs: ${line}`)
	return messages
}

/** Does not enter skipped folders: the packages of the benchmarks link back to this repository, so they have no end. */
function textFiles(root: string, path: string): string[] {
	if (!statSync(join(root, path)).isDirectory()) return [path]
	return globSync(`${path}/**/*`, { cwd: root, exclude: (name) => SKIPPED.test(name) })
		.map((name) => name.replaceAll('\\', '/'))
		.filter((file) => CHECKED.test(file) && !SKIPPED.test(file))
		.sort()
}
