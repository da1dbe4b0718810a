import { describe, expect, test } from 'vitest'
import { enqueue, failMessages } from './fixtures.ts'
import { run } from './run-yaoki.ts'
import { testOutbox } from './test-outbox.ts'

const env = testOutbox()

const circuit = async () => (await env.outbox.store.circuits(['billing']))[0]

const openCircuit = async () => {
	const change = { state: 'open', pausedForMs: 3_600_000, reason: 'circuit-open' } as const
	const version = (await circuit())?.version ?? 0
	await env.outbox.store.changeCircuit({
		...change,
		version,
		destination: 'billing',
		failedProbes: 0,
		delayMs: 1,
	})
}

describe('pause', () => {
	test('pauses until resumed, and says who and why', async () => {
		await enqueue(env.outbox, 'billing')
		const args = ['outbox', 'pause', 'billing', '--by', 'ada@ops', '--reason', 'database migration']
		expect(await run([...args, '--database', env.file])).toEqual({
			code: 0,
			stdout: 'billing is paused by ada@ops (database migration), until it is resumed.\n',
			stderr: '',
		})
		expect(await circuit()).toMatchObject({ reason: 'operator', pausedForMs: Infinity })
	})

	test('--for limits the time, and the default of --by is user@host', async () => {
		await enqueue(env.outbox, 'billing')
		const { data } = await env.json('pause billing --for 2h')
		expect(data).toMatchObject({ destination: 'billing', by: expect.stringMatching(/.@./), reason: null })
		const left = (await circuit())?.pausedForMs ?? 0
		expect(left).toBeGreaterThan(3_600_000)
		expect(left).toBeLessThanOrEqual(7_200_000)
	})

	test('warns if neither a message nor a relay names the destination', async () => {
		const { code, stderr } = await env.cli('pause biling')
		expect(code).toBe(0)
		expect(stderr).toContain('No message and no relay names destination "biling"')
	})

	test.each([
		['pause', 'Missing argument DESTINATION'],
		['pause billing --for soon', '--for'],
		['pause billing --for 0s', '--for'],
		[`pause ${'x'.repeat(300)}`, 'destination'],
		[`pause billing --by ${'x'.repeat(300)}`, '--by'],
	])('%s is invalid', async (args, text) => {
		const { code, stderr } = await env.cli(args)
		expect(code).toBe(2)
		expect(stderr).toContain(text)
	})
})

describe('a paused destination', () => {
	test('a paused destination is shown by status, check, list, show and why', async () => {
		const [id] = await enqueue(env.outbox, 'billing')
		await env.cli('pause billing --by ada@ops --reason deploy')
		expect((await env.cli('status')).stdout).toMatch(/billing +closed +until resumed +by ada@ops: deploy/)
		expect((await env.cli('check')).stdout).toContain('billing (by ada@ops: deploy until resumed)')
		const { data } = await env.json<{ circuits: unknown }>('status')
		expect(data.circuits).toMatchObject([
			{ destination: 'billing', reason: 'operator', operatorPause: { by: 'ada@ops', reason: 'deploy' } },
		])
		const paused = 'billing is paused by ada@ops (deploy), until it is resumed.'
		expect((await env.cli('list')).stderr).toContain(paused)
		expect((await env.cli('list --status dead')).stderr).toBe('')
		const why = 'paused by ada@ops (deploy), until it is resumed.'
		expect((await env.cli(`why ${id}`)).stdout).toContain(why)
		expect((await env.cli(`show ${id}`)).stdout).toContain(why)
	})
})

describe('resume', () => {
	test('ends a pause', async () => {
		await env.cli('pause billing')
		expect(await env.cli('resume billing')).toEqual({ code: 0, stdout: 'billing is resumed.\n', stderr: '' })
		expect(await env.cli('resume billing')).toMatchObject({ code: 0, stdout: 'billing was not paused.\n' })
		expect(await circuit()).toMatchObject({ pausedForMs: 0, operatorPause: null })
	})

	test('resume of a name that no message and no relay has prints a warning', async () => {
		await env.cli('pause billing')
		const { code, stdout, stderr } = await env.cli('resume biling')
		expect({ code, stdout }).toEqual({ code: 0, stdout: 'biling was not paused.\n' })
		expect(stderr).toContain('No message and no relay names destination "biling". Check its spelling.')
	})

	test('leaves an open circuit open and says so; --close-circuit closes it', async () => {
		await openCircuit()
		await env.cli('pause billing')
		const { stderr } = await env.cli('resume billing')
		expect(stderr).toContain('Its circuit is open')
		expect(stderr).toContain('--close-circuit')
		const { data } = await env.json('resume billing --close-circuit')
		expect(data).toEqual({ destination: 'billing', resumed: true, circuit: 'closed', pausedForMs: 0 })
	})

	test('--close-circuit ends a Retry-After', async () => {
		await env.outbox.store.pause('billing', 3_600_000, 'retry-after')
		expect((await env.cli('resume billing')).stderr).toContain('It sent a Retry-After')
		expect((await env.cli('resume billing --close-circuit')).stdout).toBe('billing is resumed.\n')
		expect(await circuit()).toMatchObject({ pausedForMs: 0 })
	})
})

describe('retry --destination', () => {
	test('closes the circuit only with --close-circuit', async () => {
		await enqueue(env.outbox, 'billing', 2)
		await failMessages(env.outbox.store, 'billing')
		await openCircuit()
		expect((await env.json('retry --destination billing')).data).toEqual({ retried: 2 })
		expect(await circuit()).toMatchObject({ state: 'open' })
		const { data } = await env.json('retry --destination billing --close-circuit')
		expect(data).toEqual({ retried: 0, circuitClosed: true })
		expect(await circuit()).toMatchObject({ state: 'closed' })
	})

	test('says that the circuit was not open, and warns about an unknown destination', async () => {
		await enqueue(env.outbox, 'billing')
		const args = 'retry --destination billing --close-circuit'
		const text = 'No matching message waits for a retry. Its circuit was not open.\n'
		expect(await env.cli(args)).toMatchObject({ code: 0, stdout: text, stderr: '' })
		const unknown = await env.cli(args.replace('billing', 'biling'))
		expect(unknown).toMatchObject({ code: 0, stdout: text })
		expect(unknown.stderr).toContain('No message and no relay names destination "biling"')
		expect((await env.cli('retry --destination biling')).stderr).toContain('Check its spelling.')
	})

	test('does not end the pause of an operator', async () => {
		await env.cli('pause billing')
		expect((await env.cli('retry --destination billing --close-circuit')).stdout).toMatch(
			/^Its circuit was not open\. billing is paused .* Resume it: /,
		)
		expect(await circuit()).toMatchObject({ reason: 'operator' })
	})

	test('says that the circuit is open or the destination is paused, and how to end it', async () => {
		// Regression: it printed "No matching message waits for a retry."
		await enqueue(env.outbox, 'billing', 2)
		await openCircuit()
		const open = await env.cli('retry --destination billing')
		expect(open.stdout).toMatch(
			/^The circuit of billing is open after too many failures; a relay probes it in 60 min\. .*--close-circuit/,
		)
		await env.cli('pause billing --by ada@ops')
		const paused = await env.cli('retry --destination billing')
		expect(paused.stdout).toMatch(
			/^billing is paused by ada@ops, until it is resumed\. Resume it: yaoki outbox resume billing/,
		)
	})

	test('--close-circuit without --destination is invalid', async () => {
		expect(await env.cli('retry --all --close-circuit')).toMatchObject({ code: 2 })
	})
})
