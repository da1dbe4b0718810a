import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-test-'))
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
	return folder
}

/** A name for a database, in a folder of its own. */
export const temporaryFile = (): string => join(temporaryFolder(), 'test.db')
