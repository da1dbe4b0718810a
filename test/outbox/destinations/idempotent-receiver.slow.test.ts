/**
 * `httpDestination` and an idempotency server of this package, both with their defaults. Connections are reset, handlers take longer than the
 * delivery, and the receiver is killed: every message has one effect, and none becomes a dead letter.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { httpDestination, Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import { seededRandom } from 'yaoki/testing'
import { end, guard, guardedFolder } from '../../guard/guard.ts'
import { resettingNetwork } from '../../idempotency/resetting-network.ts'

const PROGRAM = fileURLToPath(new URL('./receiver-process.ts', import.meta.url))

interface Receiver {
	readonly child: ChildProcess
	readonly port: number
	/** Resolves when the handler of this message runs. */
	started(id: string): Promise<void>
}

async function startReceiver(file: string, port = 0): Promise<Receiver> {
	const child = guard(fork(PROGRAM, [file, String(port)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }))
	onTestFinished(() => end(child))
	const reported = <T>(read: (report: { port?: number; started?: string }) => T | undefined): Promise<T> =>
		new Promise((resolve, reject) => {
			child.once('exit', () => reject(new Error('the receiver has ended')))
			child.on('message', (report: object) => {
				const value = read(report)
				if (value !== undefined) resolve(value)
			})
		})
	const listening = await reported((report) => report.port)
	return {
		child,
		port: listening,
		started: (id) => reported((report) => (report.started === id ? true : undefined)).then(() => {}),
	}
}

async function setup(url: () => string) {
	const folder = await guardedFolder('yaoki-receiver-')
	onTestFinished(() => folder[Symbol.asyncDispose]())
	const outbox = new Outbox({ store: sqliteOutboxStore(join(folder.path, 'outbox.db')) })
	await outbox.migrate()
	const receiverFile = join(folder.path, 'receiver.db')
	return {
		receiverFile,
		async deliver(
			messages: readonly { id: string; handlerMs: number }[],
			timeoutMs?: number,
		): Promise<Relay> {
			for (const payload of messages)
				await outbox.enqueue({ topic: 'order', payload }, { withoutTransaction: true })
			const destination = httpDestination({ url, ...(timeoutMs === undefined ? {} : { timeoutMs }) })
			const relay = new Relay(outbox, { destinations: { order: destination } })
			await relay.start()
			onTestFinished(async () => {
				await relay.stop()
				await outbox.close()
			})
			return relay
		},
		/** Waits until no message is left, and returns the ids of all effects. */
		async effects(): Promise<readonly string[]> {
			while ((await outbox.list()).length > 0) await new Promise((resolve) => setTimeout(resolve, 50))
			expect((await outbox.stats()).totals.dead.count).toBe(0)
			const db = new DatabaseSync(receiverFile)
			try {
				return db
					.prepare('SELECT id FROM effects ORDER BY id')
					.all()
					.map((row) => String(row['id']))
			} finally {
				db.close()
			}
		},
	}
}

const ids = (count: number) => Array.from({ length: count }, (_, at) => `message-${100 + at}`)

test('every message has one effect although connections are reset', async () => {
	let url = ''
	const delivery = await setup(() => url)
	const receiver = await startReceiver(delivery.receiverFile)
	const network = await resettingNetwork(`http://127.0.0.1:${receiver.port}`, seededRandom(3))
	url = network.url
	await delivery.deliver(ids(60).map((id) => ({ id, handlerMs: 1 })))
	expect(await delivery.effects()).toEqual(ids(60))
	expect(network.resets.inHandler + network.resets.inResponse).toBeGreaterThan(5)
})

test('a message has one effect although its handler takes longer than a delivery', async () => {
	let url = ''
	const delivery = await setup(() => url)
	const receiver = await startReceiver(delivery.receiverFile)
	url = `http://127.0.0.1:${receiver.port}`
	await delivery.deliver([{ id: 'slow', handlerMs: 4_000 }], 1_000)
	expect(await delivery.effects()).toEqual(['slow'])
})

test('every message has one effect although the receiver is killed in a handler, and started again', async () => {
	let url = ''
	const delivery = await setup(() => url)
	const first = await startReceiver(delivery.receiverFile)
	url = `http://127.0.0.1:${first.port}`
	const started = first.started('killed')
	await delivery.deliver([{ id: 'killed', handlerMs: 2_000 }, ...ids(10).map((id) => ({ id, handlerMs: 1 }))])
	await started
	await end(first.child)
	await startReceiver(delivery.receiverFile, first.port)
	expect(await delivery.effects()).toEqual(['killed', ...ids(10)])
})
