/** Functions that replace comments and file names of the examples in the documentation. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'

/** `value // => expected` in an example. */
export function check(actual: unknown, expected: unknown): void {
	expect(actual).toEqual(expected)
}

/** `call() // => throws message` in an example. */
export function checkThrows(run: () => unknown, message: string): void {
	expect(run).toThrow(message)
}

/** Replaces `'shop.db'` or `'events.jsonl'` in an example: a file that is deleted afterwards. */
export function temporaryFile(): string {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-docs-'))
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
	return join(folder, 'file')
}
