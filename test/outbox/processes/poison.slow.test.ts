import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { Outbox, sqliteStore } from 'yaoki/outbox'

const PROGRAM = fileURLToPath(new URL('./poisoned-relay.ts', import.meta.url))
const OTHERS = Array.from({ length: 12 }, (_, n) => `other ${n}`)

test('a message that crashes its process five times while it runs alone becomes a dead letter, and the others are sent', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-poison-'))
	const [file, ledger] = [join(folder, 'outbox.db'), join(folder, 'ledger')]
	const outbox = new Outbox({ store: sqliteStore(file), outsideTransaction: 'allow' })
	await outbox.migrate()
	const payloads = [...OTHERS.slice(0, 3), 'poison', ...OTHERS.slice(3)]
	const results = await outbox.enqueue(payloads.map((payload) => ({ topic: 'jobs', payload })))
	const poison = results[payloads.indexOf('poison')]?.id ?? ''

	let crashes = 0
	let relay: ChildProcess | undefined
	let isStopped = false
	const supervise = async () => {
		while (!isStopped) {
			relay = spawn(process.execPath, [PROGRAM, file, ledger], { stdio: 'inherit' })
			const [, signal] = await once(relay, 'exit')
			if (!isStopped && signal === 'SIGKILL') crashes++
		}
	}
	const supervised = supervise()
	try {
		await vi.waitUntil(
			async () => {
				const left = await outbox.list()
				return left.length === 1 && left[0]?.status === 'dead'
			},
			{ timeout: 60_000, interval: 50 },
		)
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
		rmSync(folder, { recursive: true, force: true })
	}
}, 90_000)
