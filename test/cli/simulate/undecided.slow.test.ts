import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { pipeline, retry, timeout } from 'yaoki'
import { yaoki } from '../../../src/cli/commands.ts'
import { runCli } from '../../../src/cli/run.ts'
import { simulateColdCache } from '../../sim/incident/cold-cache.ts'
import { produce } from '../../sim/incident/production.ts'
import { FakeTerminal } from '../fake-terminal.ts'
import { Folder } from './files.ts'

/** The log of a collapse: nothing in it shows whether the service is still slow, or only overloaded. */
const recorded = simulateColdCache({ maxRetries: 3, delayMs: 100, timeoutMs: 500 })

const replay = (...args: readonly string[]) => replayLog(recorded.lines, args)

async function replayLog(lines: readonly string[], args: readonly string[]) {
	const folder = new Folder()
	const log = folder.write('events.jsonl', `${lines.join('\n')}\n`)
	const layers = [{ retry: { maxRetries: 3, baseDelayMs: 100 } }, { timeoutMs: 2_000 }]
	const policy = folder.write('patient.json', JSON.stringify(layers))
	const terminal = new FakeTerminal({ columns: 120 })
	const command = [
		'simulate',
		'-q',
		'--threads',
		'1',
		'-n',
		'1',
		'--incident',
		log,
		'--policy',
		policy,
		...args,
	]
	const code = await runCli(command, terminal, yaoki)
	return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text }
}

describe('a log of a collapse', () => {
	test('a log of a collapse is of a service that does not recover with the other policy either', () => {
		const truth = simulateColdCache({ maxRetries: 3, delayMs: 100, timeoutMs: 2_000 })
		expect(recorded.lastShare).toBeLessThan(0.1)
		expect(truth.goodShare).toBeLessThan(0.5)
		expect(truth.lastShare).toBeLessThan(0.1)
	})

	test('gives no headline, and says what would decide', async () => {
		const { code, stdout } = await replay()
		expect(code).toBe(0)
		expect(stdout).toContain('\nCannot be decided from this log: how the incident would have gone with ')
		expect(stdout).toMatch(/The log does not show when the slowdown at 00:00:\d\d ended\. This would: the/)
		expect(stdout).toMatch(/\npatient\.json, lowest of \d /)
		expect(stdout).toMatch(/\npatient\.json, highest of \d /)
		expect(stdout).toMatch(/\npatient\.json +\d+ to 100 % +\d of \d +no\n/)
		expect(stdout).not.toContain('shortest faults')
	})

	test('satisfies an assertion only if every scenario does', async () => {
		for (const text of ['patient.json: goodShare>=0.9', 'goodShare>=0.9']) {
			const { code, stderr } = await replay('--assert', text)
			expect(code).toBe(4)
			expect(stderr).toMatch(/\(patient\.json, alternative \d, seed 1\)/)
		}
	})

	test('recommends no change that helps only in some of its scenarios', async () => {
		const { code, stdout } = await replay(
			...['--variant', 'patient.json', '--tune', '--max-steps', '12', '--assert', 'goodShare>=0.9'],
		)
		expect(code).toBe(4)
		expect(stdout).toMatch(/Constraints for the run in each of the \d scenarios that the events allow: /)
		expect(stdout).toMatch(
			/No policy satisfies all constraints in each scenario\. The policies as they are satisfy them in \d of \d, the nearest miss in \d\.\nCannot be decided from this log: the scenarios disagree\.\nThe log does not show when the slowdown/,
		)
		expect(stdout).not.toContain('export const policy')
		expect(stdout).not.toContain('The smallest change')
		expect(stdout).toMatch(/\nbefore, alternative 1 /)
		expect(stdout).toMatch(/\n {2}replay\[1\]\.timeoutMs: 1_000, 4_000, 10_000, now 2_000\n/)
	})

	test('a log of a collapse has its faults, caveats and ranges in every artefact', async () => {
		const folder = new Folder()
		const files = ['a.html', 'a.svg', 'a.json'].map((name) => folder.write(name, ''))
		const { code } = await replay(...files.flatMap((file) => ['--out', file]))
		expect(code).toBe(0)
		for (const file of files) {
			const content = readFileSync(file, 'utf8')
				.replaceAll(/<[^>]*>/g, ' ')
				.replaceAll(/\s+/g, ' ')
			expect(content).toContain('Fault: 00:00:15 to ')
			expect(content).toContain('Caveat: The slowdown at 00:00:15 may have ended at any time')
			expect(content).toMatch(
				/patient\.json: cannot be decided from this log: \d+ to 100 % good, recovers in/,
			)
			expect(content).toContain('The log does not show when the slowdown at 00:00:15 ended.')
		}
		const { cases, incident } = JSON.parse(readFileSync(files[2] ?? '', 'utf8'))
		expect(cases.map(({ name }: { name: string }) => name)).toContain('patient.json, alternative 1')
		expect(incident.ranges).toContainEqual(
			expect.objectContaining({ policy: 'patient.json', isDecided: false }),
		)
	})
})

/** Read with one worker instead of the four that it was recorded with. */
describe('a log that its scenario does not reproduce', () => {
	const { lines } = produce(
		{
			perSecond: 56,
			seconds: 50,
			service: { workers: 4, serviceTimeMs: { kind: 'exponential', meanMs: 50 } },
			faults: [{ kind: 'outage', fromMs: 15_000, toMs: 20_000 }],
		},
		() => pipeline(retry({ maxRetries: 3, baseDelayMs: 100 }), timeout(500)),
	)
	const replayWrong = (...args: readonly string[]) => replayLog(lines, ['--workers', '1', ...args])
	const REASON = 'the scenario does not reproduce the log'

	test('gives no number, and says why', async () => {
		const { code, stdout } = await replayWrong()
		expect(code).toBe(0)
		const [, verdict = ''] = stdout.split('\n\n')
		expect(verdict).toMatch(
			/^Cannot be decided from this log: how the incident would have gone with no policy/,
		)
		expect(verdict.replaceAll('\n', ' ')).toContain(`The reason: ${REASON}.`)
		expect(verdict).toContain('The log does not show why these attempts ended as they did. This would: ')
		expect(stdout.split('\n\n')).toHaveLength(2)
		expect(verdict).not.toMatch(/\d/)
	})

	test('satisfies no assertion, also not one that every run would satisfy', async () => {
		const { code, stderr } = await replayWrong('--assert', 'goodShare>=0')
		expect(code).toBe(4)
		expect(stderr).toContain(`cannot be decided, because ${REASON} (no policy, seed 1)`)
	})

	test('recommends nothing', async () => {
		for (const json of [[], ['--json']]) {
			const { code, stdout, stderr } = await replayWrong(
				...['--variant', 'patient.json', '--tune', '--assert', 'goodShare>=0', ...json],
			)
			expect(code).toBe(4)
			expect(stdout).toContain(REASON)
			expect(stdout).not.toContain('export const policy')
			expect(stderr).toContain(`No policy is recommended: ${REASON}.`)
		}
	})

	test('a log that its scenario does not reproduce has the reason and no result in every artefact', async () => {
		const folder = new Folder()
		const files = ['b.html', 'b.svg', 'b.json'].map((name) => folder.write(name, ''))
		const { code } = await replayWrong(...files.flatMap((file) => ['--out', file]))
		expect(code).toBe(0)
		const [html = '', svg = '', json = ''] = files.map((file) => readFileSync(file, 'utf8'))
		for (const content of [html, svg, json]) {
			const text = content.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
			expect(text).toContain('Caveat: The scenario does not reproduce the events')
			expect(text).toContain(`patient.json: cannot be decided from this log: ${REASON}.`)
		}
		expect(html).not.toMatch(/<table|<svg/)
		const { cases, incident } = JSON.parse(json)
		expect(cases).toEqual([])
		expect(incident.ranges).toContainEqual({
			policy: 'patient.json',
			goodShare: [0, 1],
			recovered: 0,
			scenarios: expect.any(Number),
			isReproduced: false,
			isDecided: false,
		})
	})
})
