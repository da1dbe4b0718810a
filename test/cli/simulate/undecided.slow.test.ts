import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { yaoki } from '../../../src/cli/commands.ts'
import { runCli } from '../../../src/cli/run.ts'
import { simulateColdCache } from '../../sim/incident/cold-cache.ts'
import { FakeTerminal } from '../fake-terminal.ts'
import { Folder } from './files.ts'

/** The log of a collapse: nothing in it shows whether the service is still slow, or only overloaded. */
const recorded = simulateColdCache({ maxRetries: 3, delayMs: 100, timeoutMs: 500 })

async function replay(...args: readonly string[]) {
	const folder = new Folder()
	const log = folder.write('events.jsonl', `${recorded.lines.join('\n')}\n`)
	const layers = [{ retry: { maxRetries: 3, baseDelayMs: 100 } }, { timeout: 2_000 }]
	const policy = folder.write('patient.json', JSON.stringify(layers))
	const terminal = new FakeTerminal({ columns: 120 })
	const command = ['simulate', '-q', '-w', '1', '-n', '1', '--incident', log, '--policy', policy, ...args]
	const code = await runCli(command, terminal, yaoki)
	return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text }
}

describe('a log of a collapse', () => {
	test('is of a service that does not recover with the other policy either', () => {
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
		expect(stdout).toMatch(/\n {2}replay\[1\]\.timeout: 1_000, 4_000, 10_000, now 2_000\n/)
	})

	test('has its faults, caveats and ranges in every artefact', async () => {
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
