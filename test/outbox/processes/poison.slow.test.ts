import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Outbox, sqliteOutboxStore } from 'yaoki/outbox'
import { guard, guardedFolder } from '../../guard/guard.ts'
import { eventuallyTrue } from '../../support/eventually.ts'

const PROGRAM = fileURLToPath(new URL('./poisoned-relay.ts', import.meta.url))
const OTHERS = Array.from({ length: 12 }, (_, n) => `other ${n}`)

test.each([
	['single messages', ''],
	['batches', 'batches'],
])(
	'a message that crashes its process five times while it runs alone becomes a dead letter, and the others are sent: %s',
	async (_, mode) => {
		await using folder = await guardedFolder('yaoki-poison-')
		const [file, ledger] = [join(folder.path, 'outbox.db'), join(folder.path, 'ledger')]
		const outbox = new Outbox({ store: sqliteOutboxStore(file), outsideTransaction: 'allow' })
		await outbox.migrate()
		const payloads = [...OTHERS.slice(0, 3), 'poison', ...OTHERS.slice(3)]
		const results = await outbox.enqueue(payloads.map((payload) => ({ topic: 'jobs', payload })))
		const poison = results[payloads.indexOf('poison')]?.id ?? ''

		let crashes = 0
		let relay: ChildProcess | undefined
		let isStopped = false
		const supervise = async () => {
			while (!isStopped) {
				relay = guard(spawn(process.execPath, [PROGRAM, file, ledger, mode], { stdio: 'inherit' }))
				const [, signal] = await once(relay, 'exit')
				if (!isStopped && signal === 'SIGKILL') crashes++
			}
		}
		const supervised = supervise()
		try {
			await eventuallyTrue(async () => {
				const left = await outbox.list()
				return left.length === 1 && left[0]?.status === 'dead'
			})
			expect(await outbox.find(poison)).toMatchObject({ status: 'dead', cause: 'crashed', crashes: 7 })
			expect(crashes).toBe(7)
			const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : []
			for (const other of OTHERS) expect(lines).toContain(`${other} done`)
			// The last time it was sent alone: all messages before it were done.
			const others = lines.slice(0, lines.lastIndexOf('poison')).filter((line) => line !== 'poison')
			expect(others.at(-1)).toMatch(/ done$/)
		} finally {
			isStopped = true
			relay?.kill('SIGKILL')
			await supervised
			await outbox.close()
		}
	},
)
