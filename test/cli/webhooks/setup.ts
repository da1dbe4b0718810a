/** Endpoints of webhooks in an outbox, and `yaoki webhooks ...` on its database. */
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { Outbox, sqliteOutboxStore, Webhooks, type WebhooksOptions } from 'yaoki/outbox'
import type { OutboxStore } from 'yaoki/outbox/store'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { type RunResult, run } from '../outbox/run-yaoki.ts'

export const URL_A = 'https://a.example.com/hooks'
export const URL_B = 'https://b.example.com/hooks'

export interface WebhookDatabase {
	readonly outbox: Outbox
	readonly webhooks: Webhooks
	/** A folder for files of secrets. */
	readonly folder: string
	/** Runs `yaoki webhooks`. */
	yaoki(...args: readonly string[]): Promise<RunResult>
	/** Runs another group of commands: `outbox('check')`. */
	cli(...args: readonly string[]): Promise<RunResult>
	json<Data>(...args: readonly string[]): Promise<Data>
	create(part?: Partial<Parameters<Webhooks['endpoints']['create']>[0]>): Promise<string>
}

export async function setupOn(
	store: OutboxStore,
	url: string,
	options: WebhooksOptions = {},
): Promise<WebhookDatabase> {
	const outbox = new Outbox({ store })
	onTestFinished(() => outbox.close())
	await outbox.migrate()
	const webhooks = new Webhooks(outbox, { keepEventsForMs: 60_000, ...options })
	const cli = (...args: readonly string[]) => run([...args, '--database', url])
	const yaoki = (...args: readonly string[]) => cli('webhooks', ...args)
	return {
		outbox,
		webhooks,
		folder: temporaryFolder(),
		yaoki,
		cli,
		async json(...args) {
			const { code, stdout, stderr } = await yaoki(...args, '--json')
			expect({ code, stderr }).toMatchObject({ code: 0 })
			return JSON.parse(stdout)
		},
		create: async (part = {}) =>
			(await webhooks.endpoints.create({ url: URL_A, topics: ['order.*'], ...part })).endpoint.id,
	}
}

export function setup(options?: WebhooksOptions): Promise<WebhookDatabase> {
	const file = join(temporaryFolder(), 'shop.db')
	return setupOn(sqliteOutboxStore({ file }), file, options)
}

/** The secrets of an endpoint as they are stored, the newest first. */
export async function storedSecrets({ outbox }: WebhookDatabase, id: string): Promise<readonly string[]> {
	const row = await outbox.store.endpoints?.find(id)
	const secrets: readonly { readonly value: string }[] = JSON.parse(row?.secrets ?? '[]')
	return secrets.map(({ value }) => value)
}
