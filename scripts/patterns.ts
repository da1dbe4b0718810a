/**
 * Pattern check: finds regular expressions in `src` that can take more than linear time. Many read headers, messages and bodies of other systems,
 * and one request must not stop the process. scripts/regex explains how a pattern is judged.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findBlowup } from './regex/ambiguity.ts'
import { extractPatterns } from './regex/extract.ts'
import { type Pattern, UnsupportedPattern } from './regex/parse.ts'

/** Files whose patterns may take quadratic time, because the text that they read is short. */
const BOUNDED: Readonly<Record<string, string>> = {
	'src/core/classify/codes.ts': 'classify reads at most about 10,000 characters of an error',
}

/** Returns one message per pattern that is slow for some text, or that cannot be checked. */
export function checkPatterns(root: string): string[] {
	return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
		.filter((file) => file.endsWith('.ts'))
		.map((file) => `src/${file.replaceAll('\\', '/')}`)
		.filter((path) => !Object.hasOwn(BOUNDED, path))
		.sort()
		.flatMap((path) => checkFile(path, readFileSync(join(root, path), 'utf8')))
}

/** The same for one file. */
export function checkFile(path: string, text: string): string[] {
	return extractPatterns(path, text).flatMap(({ line, pattern }) => {
		const problem = pattern ? problemOf(pattern) : 'RegExp of a text that is not constant'
		return problem === undefined ? [] : [`${path}:${line}: ${problem}`]
	})
}

function problemOf(pattern: Pattern): string | undefined {
	const shown = `/${pattern.source}/${pattern.flags}`
	try {
		const blowup = findBlowup(pattern)
		return blowup && `${shown} takes ${blowup.growth} time for ${JSON.stringify(blowup.text)} repeated`
	} catch (error) {
		if (error instanceof UnsupportedPattern) return `${shown} cannot be checked: it contains ${error.message}`
		throw error
	}
}
