import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { Outbox, sqliteStore } from 'yaoki/outbox'

const PROGRAM = fileURLToPath(new URL('./poisoned-relay.ts', import.meta.url))
const NEIGHBOURS = Array.from({ length: 12 }, (_, n) => `neighbour ${n}`)

test('a message that kills the process three times is a dead letter, and its neighbours are delivered', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'yaoki-poison-'))
	const [file, ledger] = [join(folder, 'outbox.db'), join(folder, 'ledger')]
	const outbox = new Outbox({ store: sqliteStore(file), outsideTransaction: 'allow' })
	await outbox.migrate()
	const payloads = [...NEIGHBOURS.slice(0, 3), 'poison', ...NEIGHBOURS.slice(3)]
	const receipts = await outbox.enqueue(payloads.map((payload) => ({ topic: 'jobs', payload })))
	const poison = receipts[payloads.indexOf('poison')]?.id ?? ''

	let deaths = 0
	let relay: ChildProcess | undefined
	let isOver = false
	const supervise = async () => {
		while (!isOver) {
			relay = spawn(process.execPath, [PROGRAM, file, ledger], { stdio: 'inherit' })
			const [, signal] = await once(relay, 'exit')
			if (!isOver && signal === 'SIGKILL') deaths++
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
		expect(await outbox.find(poison)).toMatchObject({ status: 'dead', cause: 'crashed', crashes: 3 })
		expect(deaths).toBe(3)
		const lines = existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : []
		for (const neighbour of NEIGHBOURS) expect(lines).toContain(`${neighbour} done`)
		// The third time it was alone: all that was begun before it had ended.
		const begun = lines.slice(0, lines.lastIndexOf('poison'))
		expect(begun.at(-1)).toMatch(/ done$/)
	} finally {
		isOver = true
		relay?.kill('SIGKILL')
		await supervised
		await outbox.close()
		rmSync(folder, { recursive: true, force: true })
	}
}, 90_000)
