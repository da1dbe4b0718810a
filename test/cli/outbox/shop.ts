/** A shop's outbox in a file, and `yaoki outbox ...` on that file. */
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished } from 'vitest'
import { Outbox, sqliteStore } from '../../../src/outbox/index.ts'
import { folder, type Ran, run } from './terminal.ts'

/** The id of no message. */
export const NOBODY = '019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77'
export const LATER: Date = new Date('2099-01-01')

/** New for each test. */
export interface Shop {
	file: string
	outbox: Outbox
	/** `cli('list --groups')` */
	cli(words: string): Promise<Ran>
	/** The same with `--json`. */
	json<Data = unknown>(
		words: string,
	): Promise<{ readonly code: number; readonly stderr: string; readonly data: Data }>
}

export function shopForEach(): Shop {
	const open = () => {
		const file = join(folder(), 'shop.db')
		const outbox = new Outbox({ store: sqliteStore({ file }) })
		onTestFinished(() => outbox.close())
		return { file, outbox }
	}
	const cli = (words: string) => run(['outbox', ...words.split(' '), '--database', shop.file])
	const json = async (words: string) => {
		const { stdout, ...ran } = await cli(`${words} --json`)
		return { ...ran, data: JSON.parse(stdout) }
	}
	const shop = { cli, json } as Shop
	beforeEach(async () => {
		Object.assign(shop, open())
		await shop.outbox.migrate()
	})
	return shop
}

export const only = <T>([one]: readonly T[]): T => {
	expect(one).toBeDefined()
	return one as T
}
