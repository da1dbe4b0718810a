import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../support/temporary-file.ts'
import { beat, enqueue, failMessages, killMessages } from './fixtures.ts'
import { run } from './run-yaoki.ts'
import { LATER, testOutbox } from './test-outbox.ts'

const env = testOutbox()

describe('check', () => {
	const failedChecks = async (args = 'check') => {
		const { code, data } = await env.json<{ checks: { name: string; ok: boolean }[] }>(args)
		const names = data.checks.flatMap(({ name, ok }) => (ok ? [] : [name]))
		expect(code).toBe(names.length === 0 ? 0 : 4)
		return names
	}

	test('prints a line per check and exits with 0 for a healthy outbox', async () => {
		const { code, stdout } = await env.cli('check')
		expect(code).toBe(0)
		const lines = stdout.trimEnd().split('\n')
		const names = ['schema', 'clock', 'lag', 'age', 'attempts', 'failing', 'blocked', 'dead', 'relays']
		expect(lines.map((line) => line.split(/ +/).slice(0, 2))).toEqual(
			[...names, 'paused', 'webhooks', 'poison'].map((name) => ['ok', name]),
		)
	})

	test('fails for pending messages without a relay, and names their destination', async () => {
		await enqueue(env.outbox, 'billing', 1)
		expect(await failedChecks()).toEqual(['relays'])
		await beat(env.outbox.store, { destinations: ['mail'] })
		expect(await failedChecks()).toEqual(['relays'])
		expect((await env.cli('check')).stdout).toMatch(
			/failed {2}relays +1 running relay, none .* billing; start/,
		)
		await beat(env.outbox.store, { destinations: ['*'] })
		expect(await failedChecks()).toEqual([])
	})

	test('fails for more dead letters than --max-dead', async () => {
		await enqueue(env.outbox, 'billing', 2)
		await killMessages(env.outbox.store, 'billing', new Error('no'))
		expect(await failedChecks()).toEqual(['dead'])
		expect(await failedChecks('check --max-dead 2')).toEqual([])
	})

	test('fails for messages that are later than --max-lag', async () => {
		await enqueue(env.outbox, 'billing', 1)
		await expect.poll(() => failedChecks('check --max-lag 1ms --min-relays 0')).toEqual(['lag'])
	})

	test('fails for a paused destination', async () => {
		await enqueue(env.outbox, 'billing', 1, { notBefore: LATER })
		await env.outbox.store.pause('billing', 60_000, 'retry-after')
		expect(await failedChecks('check --min-relays 0')).toEqual(['paused'])
	})

	test.for([
		[
			'certificate',
			'circuit open because the TLS connection failed or its certificate was rejected, for 60 min',
		],
		[
			'credentials',
			'circuit open because its credentials are missing or were rejected (401 or 403), for 60 min',
		],
		['permanent-failures', 'circuit open because different messages in a row failed permanently, for 60 min'],
	] as const)('names the cause of a circuit that is open for %s', async ([reason, text]) => {
		await enqueue(env.outbox, 'billing', 1)
		await env.outbox.store.changeCircuit({
			destination: 'billing',
			state: 'open',
			pausedForMs: 3_600_000,
			reason,
			version: 0,
			failedProbes: 0,
			delayMs: 1,
		})
		expect((await env.cli('check --min-relays 0')).stdout).toContain(`paused: billing (${text})`)
	})

	test('fails for messages that crashed a relay process', async () => {
		await enqueue(env.outbox, 'billing', 1)
		await killMessages(env.outbox.store, 'billing', new Error('the process died'), 'crashed')
		expect(await failedChecks('check --max-dead 10')).toEqual(['poison'])
	})

	test('says so if no waiting message has made an attempt', async () => {
		expect((await env.cli('check')).stdout).toContain('no waiting message has made an attempt\n')
		await enqueue(env.outbox, 'billing', 1)
		await failMessages(env.outbox.store, 'billing')
		expect((await env.cli('check')).stdout).toContain('no message has made more than 1 attempt\n')
	})

	test('fails for missing tables, and skips the other checks', async () => {
		const empty = join(temporaryFolder(), 'empty.db')
		new DatabaseSync(empty).close()
		const { code, stdout } = await run(['outbox', 'check', '--database', empty])
		expect(code).toBe(4)
		expect(stdout).toMatch(
			/^failed {2}schema +\S+ has no tables, .* run yaoki outbox migrate --database \S+\n$/,
		)
		expect(stdout).toContain(`migrate --database ${empty}\n`)
	})
})
