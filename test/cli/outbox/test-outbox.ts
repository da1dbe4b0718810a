/** An outbox in a SQLite file, and `yaoki outbox ...` with that file. */
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished } from 'vitest'
import { Outbox, sqliteOutboxStore } from '../../../src/outbox/index.ts'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { type RunResult, run } from './run-yaoki.ts'

/** No message has this id. */
export const UNKNOWN_ID = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'
export const LATER: Date = new Date('2099-01-01')

/** Created for each test. */
export interface TestOutbox {
	file: string
	outbox: Outbox
	/** `cli('list --groups')` */
	cli(args: string): Promise<RunResult>
	/** The same with `--json`. */
	json<Data = unknown>(
		args: string,
	): Promise<{ readonly code: number; readonly stderr: string; readonly data: Data }>
}

export function testOutbox(): TestOutbox {
	const open = () => {
		const file = join(temporaryFolder(), 'shop.db')
		const outbox = new Outbox({ store: sqliteOutboxStore({ file }) })
		onTestFinished(() => outbox.close())
		return { file, outbox }
	}
	const cli = (args: string) => run(['outbox', ...args.split(' '), '--database', created.file])
	const json = async (args: string) => {
		const { stdout, ...ran } = await cli(`${args} --json`)
		return { ...ran, data: JSON.parse(stdout) }
	}
	const created = { cli, json } as TestOutbox
	beforeEach(async () => {
		Object.assign(created, open())
		await created.outbox.migrate()
	})
	return created
}

export const only = <T>([one]: readonly T[]): T => {
	expect(one).toBeDefined()
	return one as T
}
