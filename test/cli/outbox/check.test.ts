import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { bury, enqueue } from './letters.ts'
import { LATER, shopForEach } from './shop.ts'
import { folder, run } from './terminal.ts'

const shop = shopForEach()

describe('check', () => {
	const failed = async (words = 'check') => {
		const { code, data } = await shop.json<{ checks: { name: string; ok: boolean }[] }>(words)
		const names = data.checks.flatMap(({ name, ok }) => (ok ? [] : [name]))
		expect(code).toBe(names.length === 0 ? 0 : 4)
		return names
	}

	test('of an outbox that is well is a line each, and exit code 0', async () => {
		const { code, stdout } = await shop.cli('check')
		expect(code).toBe(0)
		const lines = stdout.trimEnd().split('\n')
		expect(lines.map((line) => line.split(/ +/).slice(0, 2))).toEqual(
			['schema', 'clock', 'lag', 'dead', 'relays', 'held', 'suspects'].map((name) => ['ok', name]),
		)
	})

	test('fails for what is due and has no relay to send it, and names where', async () => {
		await enqueue(shop.outbox, 'billing', 1)
		expect(await failed()).toEqual(['relays'])
		expect((await shop.cli('check')).stdout).toMatch(
			/failed {2}relays +0 relays are running, and none .* billing/,
		)
		const report = { id: 'r', host: 'h', pid: 1, inFlight: 0, sent: 0, failed: 0, dead: 0, throughput: 0 }
		await shop.outbox.store.heartbeat({ ...report, destinations: ['mail'] }, 60_000)
		expect(await failed()).toEqual(['relays'])
		await shop.outbox.store.heartbeat({ ...report, destinations: ['*'] }, 60_000)
		expect(await failed()).toEqual([])
	})

	test('fails for dead letters, unless so many may be', async () => {
		await enqueue(shop.outbox, 'billing', 2)
		await bury(shop.outbox.store, 'billing', new Error('no'))
		expect(await failed()).toEqual(['dead'])
		expect(await failed('check --max-dead 2')).toEqual([])
	})

	test('fails for what is due too long', async () => {
		await enqueue(shop.outbox, 'billing', 1)
		await expect.poll(() => failed('check --max-lag 1ms')).toEqual(['lag', 'relays'])
	})

	test('fails for a destination that is held back', async () => {
		await enqueue(shop.outbox, 'billing', 1, { notBefore: LATER })
		await shop.outbox.store.pause('billing', 60_000, 'retry-after')
		expect(await failed()).toEqual(['held'])
	})

	test('fails for messages that killed their process', async () => {
		await enqueue(shop.outbox, 'billing', 1)
		await bury(shop.outbox.store, 'billing', new Error('the process died'), 'crashed')
		expect(await failed('check --max-dead 10')).toEqual(['suspects'])
	})

	test('fails for tables that are not there, and asks nothing else of them', async () => {
		const empty = join(folder(), 'empty.db')
		new DatabaseSync(empty).close()
		const { code, stdout } = await run(['outbox', 'check', '--database', empty])
		expect(code).toBe(4)
		expect(stdout).toMatch(
			/^failed {2}schema +\S+ has no tables, .* run yaoki outbox migrate --database \S+\n$/,
		)
		expect(stdout).toContain(`migrate --database ${empty}\n`)
	})
})
