import { describe, expect, test } from 'vitest'
import { pipeline, retry, timeout } from 'yaoki'
import { simulate } from 'yaoki/sim'
import { yaoki } from '../../../src/cli/commands.ts'
import { runCli } from '../../../src/cli/run.ts'
import { readIncident, suggestTimeout } from '../../../src/cli/simulate/read-incident.ts'
import { replayStudy } from '../../../src/cli/simulate/replay-study.ts'
import { FakeTerminal } from '../fake-terminal.ts'
import { CORE, Folder } from './files.ts'

/** Returns the events that a pipeline in production emits during an outage from second 5 to second 8. */
function eventsOf(name: string): string {
	const lines: string[] = []
	const production = () => {
		const policy = pipeline({ name }, retry({ maxRetries: 2, name: `${name} retry` }), timeout(1_000))
		policy.subscribe((event) => lines.push(JSON.stringify({ ...event, pipeline: name })))
		return policy
	}
	simulate({
		durationMs: 20_000,
		services: {
			api: { workers: 20, serviceTimeMs: 20, faults: [{ kind: 'outage', fromMs: 5_000, toMs: 8_000 }] },
		},
		clients: { web: { to: 'api', arrivals: { kind: 'constant', perSecond: 20 }, policy: 'production' } },
		policies: { production },
	})
	return `${lines.join('\n')}\n`
}

async function replay(args: readonly string[]) {
	const terminal = new FakeTerminal({ columns: 120 })
	const code = await runCli(['simulate', '-q', '--threads', '1', '-n', '1', ...args], terminal, yaoki)
	return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text }
}

const users = eventsOf('users')
const signal = new AbortController().signal

describe('the events of an incident', () => {
	test('the events of an incident are read as a stream, with or without a line break at the end', async () => {
		const folder = new Folder()
		const long = users.repeat(3)
		expect(long.length).toBeGreaterThan(2 * 64 * 1024)
		const whole = await readIncident(folder.write('a.jsonl', users), {}, signal)
		const cut = await readIncident(folder.write('b.jsonl', users.trimEnd()), {}, signal)
		const many = await readIncident(folder.write('c.jsonl', long), {}, signal)
		expect(whole.summary.calls.total).toBeGreaterThan(390)
		expect(cut).toEqual(whole)
		expect(many.summary.lines).toBe(3 * whole.summary.lines)
		expect(many.summary.skipped.unreadable).toBe(0)
	})

	test('the events of an incident are printed without control characters', async () => {
		const file = new Folder().write('a.jsonl', eventsOf('us\x1b[31mers'))
		const { code, stdout } = await replay(['--incident', file])
		expect(code).toBe(0)
		const [summary = ''] = stdout.split('\n\n')
		expect(summary).toContain('Incident in us\uFFFD[31mers: ')
		expect(summary).toMatch(/source .*us\uFFFD\[31mers retry/)
		expect(summary).not.toContain('\x1b')
	})

	test('suggest a round timeout far above the latency', async () => {
		const found = await readIncident(new Folder().write('a.jsonl', users), {}, signal)
		const of = (p99Ms: number) =>
			suggestTimeout({ ...found, summary: { ...found.summary, serviceTime: { p50Ms: 1, p99Ms } } })
		expect([5, 40, 300, 600, 3_333].map(of)).toEqual([100, 200, 1_000, 2_000, 10_000])
	})

	test.each([
		['no lines', '', '', undefined],
		['no events', 'hello\n', '', undefined],
		['several pipelines', users + eventsOf('orders'), 'Invalid option "pipeline"', '--pipeline NAME'],
	])('the events of an incident are rejected for a file with %s', async (_, content, reason, hint) => {
		const file = new Folder().write('a.jsonl', content)
		const thrown = await readIncident(file, {}, signal).catch((error: unknown) => error)
		expect(thrown).toMatchObject({ kind: 'usage', message: expect.stringContaining(`${file}: ${reason}`) })
		if (hint !== undefined) expect(thrown).toMatchObject({ hint: expect.stringContaining(hint) })
	})

	test('can be those of one pipeline or of one policy', async () => {
		const file = new Folder().write('a.jsonl', users + eventsOf('orders'))
		const { code, stdout } = await replay(['--incident', file, '--pipeline', 'orders', '--json'])
		expect(code).toBe(0)
		expect(JSON.parse(stdout).incident).toMatchObject({ pipeline: 'orders' })
		const unknown = await replay(['--incident', file, '--from-policy', 'unknown'])
		expect(unknown.code).toBe(2)
		expect(unknown.stderr).toContain('Invalid option "policy"')
		expect(unknown.stderr).toContain('Select one with --from-policy NAME.')
	})

	test('the events of an incident are no longer read after Ctrl-C', async () => {
		const file = new Folder().write('a.jsonl', users)
		const reason = new Error('interrupted')
		await expect(readIncident(file, {}, AbortSignal.abort(reason))).rejects.toBe(reason)
	})
})

describe('a replay', () => {
	test('shows the incident and a few policies side by side', async () => {
		const file = new Folder().write('events.jsonl', `${users}not an event\n`)
		const { code, stdout, stderr } = await replay(['--incident', file])
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		expect(stdout).toMatch(/^Incident in users: /)
		expect(stdout).toContain('1 unreadable')
		expect(stdout).toContain('outage with refused connections')
		for (const name of ['no policy', 'retry', 'retry and budget', 'retry and breaker'])
			expect(stdout).toContain(`\n${name}`)
	})

	test('can be tuned, starting from one of its policies', async () => {
		const file = new Folder().write('a.jsonl', users)
		const { code, stdout } = await replay([
			...['--incident', file, '--variant', 'retry', '--tune', '--assert', 'amplification<=1'],
		])
		expect(code).toBe(0)
		expect(stdout).toMatch(/^Incident in users: /)
		expect(stdout).toContain('  Set replay[0].retry.maxRetries to 0 instead of 3.\n')
	})

	test('shows the range over the scenarios that the events allow, also as JSON', async () => {
		const file = new Folder().write('events.jsonl', users)
		const args = ['--incident', file, '--variant', 'retry']
		const { stdout } = await replay(args)
		expect(stdout).toMatch(/The events allow \d+ scenarios/)
		expect(stdout).not.toContain('alternative')
		const { incident, cases } = JSON.parse((await replay([...args, '--json'])).stdout)
		expect(cases.map(({ name }: { name: string }) => name)).toEqual(['retry', 'retry, alternative 1'])
		const shownBy = 'that number, from the configuration of the service (the option workers)'
		expect(incident.caveats).toContainEqual(
			expect.objectContaining({ code: 'unknown-workers', missing: expect.objectContaining({ shownBy }) }),
		)
		const [{ policy, goodShare, scenarios, recovered, isDecided }] = incident.ranges
		const isAgreed = recovered === 0 || recovered === scenarios
		expect(isDecided).toBe(isAgreed && goodShare[1] - goodShare[0] <= 0.1)
		expect(policy).toBe('retry')
		expect(recovered).toBeLessThanOrEqual(scenarios)
		expect(goodShare[0]).toBeLessThanOrEqual(goodShare[1])
		expect(scenarios).toBeGreaterThan(1)
	})

	test('shows no range if the workers are given and the events leave no doubt', async () => {
		const file = new Folder().write('events.jsonl', users)
		const { stdout } = await replay(['--incident', file, '--workers', '20', '--json'])
		expect(JSON.parse(stdout).incident.ranges).toEqual([])
	})

	test('can be checked with --assert', async () => {
		const file = new Folder().write('events.jsonl', users)
		const { code, stderr } = await replay(['--incident', file, '--assert', 'no policy: goodShare>0.99'])
		expect(code).toBe(4)
		expect(stderr).toMatch(/no policy: goodShare>0\.99 failed in 2 of 2 runs:\n {4}got 0\.8\d+ /)
	})

	test.each([
		['mine.json', JSON.stringify([{ retry: { maxRetries: 5 } }, { timeoutMs: 500 }])],
		['mine.ts', `import { retry } from '${CORE}'\nexport default () => retry({ maxRetries: 5 as number })`],
		['mine.mjs', 'export default [{ retry: { maxRetries: 5 } }]'],
	])('compares a policy of the user in %s with no policy', async (name, content) => {
		const folder = new Folder()
		const file = folder.write('events.jsonl', users)
		const args = ['--incident', file, '--policy', folder.write(name, content), '--json']
		const { code, stdout, stderr } = await replay(args)
		expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
		const { cases }: { cases: { name: string; measures: { goodShare: { mean: number } } }[] } =
			JSON.parse(stdout)
		expect(cases.map((one) => one.name)).toEqual([
			...['no policy', name],
			...['no policy, alternative 1', `${name}, alternative 1`],
		])
		const [without = 0, withIt = 0] = cases.map((one) => one.measures.goodShare.mean)
		expect(withIt).toBeGreaterThan(without)
	})

	test.each([
		['a.json', '{"retry": {}}', 2, 'Invalid option "policy": expected a list of layers, or a function'],
		['a.json', '[{"retry": {"maxRetries": -1}}]', 2, 'Invalid option "[0].retry.maxRetries": expected '],
		[
			'a.json',
			'[{"retry": {"budget": {"kind": "gold"}, "x": 1}, "shared": true}]',
			2,
			'[0].retry.budget.kind',
		],
		['a.json', '[{"tiemout": 5}]', 2, 'tiemout'],
		[
			'a.mjs',
			'export default () => 5',
			2,
			'Invalid option "policies.replay()": expected a function that returns a policy, got 5',
		],
		['none.ts', undefined, 3, 'does not exist'],
	])('rejects an invalid policy: %s %s', async (name, content, exit, message) => {
		const folder = new Folder()
		const file = folder.write('events.jsonl', users)
		const policy = content === undefined ? folder.at(name) : folder.write(name, content)
		const { code, stderr } = await replay(['--incident', file, '--policy', policy])
		expect(code).toBe(exit)
		expect(stderr).toContain(message)
	})

	test('a replay is data that can be posted to a thread, with the policy of the user as a file name', async () => {
		const { scenario, alternatives } = await readIncident(new Folder().write('a.jsonl', users), {}, signal)
		const replayed = { scenario, alternatives, timeoutMs: 200, policy: undefined }
		expect(await replayStudy(structuredClone(replayed))).toEqual(await replayStudy(replayed))
		expect((await replayStudy(replayed)).description).toContain('a timeout of 200 ms')
	})
})
