import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { classifyFailure, TRANSIENT } from './expected.ts'

test('a database that another connection has locked is transient', async () => {
	const directory = mkdtempSync(join(tmpdir(), 'yaoki-sqlite-'))
	const [holder, other] = [0, 1].map(() => new DatabaseSync(join(directory, 'data.db'), { timeout: 0 }))
	onTestFinished(() => {
		holder?.close()
		other?.close()
		rmSync(directory, { recursive: true })
	})
	holder?.exec('begin exclusive')
	expect(await classifyFailure(() => other?.exec('create table a (id int)'))).toEqual(TRANSIENT)
})
