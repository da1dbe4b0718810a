/**
 * Reads a secret from a file, so that it is not an argument: arguments are visible to every user of the machine. A file that others can read gets
 * a warning only, because mounted secrets often have such modes.
 */
import { readFileSync, statSync } from 'node:fs'
import { fileError } from '../user-files.ts'

const OTHERS = 0o077

export function readSecretFile(file: string, warn: (text: string) => void): string {
	try {
		const stats = statSync(file)
		// A pipe has no useful mode, and Windows has no modes.
		const isOpenToOthers = stats.isFile() && process.platform !== 'win32' && (stats.mode & OTHERS) !== 0
		if (isOpenToOthers) {
			const mode = (stats.mode & 0o777).toString(8)
			warn(`Other users can read ${file} (mode ${mode}). Change it with chmod 600.`)
		}
		return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
	} catch (error) {
		throw fileError(file, error)
	}
}

/** Returns lines with content. A line that starts with # is a comment. */
export const contentLines = (text: string): readonly string[] =>
	text
		.split('\n')
		.map((line) => line.trim())
		.filter((line) => line !== '' && !line.startsWith('#'))
