import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { tune } from 'yaoki/sim'
import { yaoki } from '../../../../src/cli/commands.ts'
import { runCli } from '../../../../src/cli/run.ts'
import { blocks, page } from '../../../examples/markdown.ts'
import { chain } from '../../../sim/tune/storm.ts'
import { FakeTerminal } from '../../fake-terminal.ts'
import { CORE, Folder, pair, small, withPolicy } from '../files.ts'

/** Runs the command. Presses Ctrl-C when this text is on standard error. */
async function simulate(args: readonly string[], interruptAt?: string) {
	const terminal = new FakeTerminal()
	const { stderr } = terminal
	const write = stderr.write.bind(stderr)
	stderr.write = (text) => {
		write(text)
		if (interruptAt !== undefined && text.includes(interruptAt)) terminal.interrupt()
	}
	const code = await runCli(['simulate', ...args], terminal, yaoki)
	return { code, stdout: terminal.stdout.text, stderr: stderr.text }
}

const one = ['--assert', 'amplification<=1']

describe('simulate --tune', () => {
	test.each([
		[['--tune'], 'Missing argument NAME|FILE'],
		[
			['herd', '--tune'],
			'--tune requires one scenario, but herd has 5 variants.\nSelect one with --variant: ',
		],
		[['herd', '--max-steps', '5'], '--max-steps requires --tune.'],
		[['herd', '--objective', 'p99Ms'], '--objective requires --tune.'],
		[['herd', '--tune-policy', 'client'], '--tune-policy requires --tune.'],
		[['herd', '--sensitivity'], '--sensitivity requires --tune.'],
		[['herd', '--tune', '--objective', 'speed'], 'Unknown value "speed" for --objective.'],
		[['herd', '--tune', '--out', 'a.svg'], '--out cannot be combined with --tune.'],
	])('rejects %j with exit code 2', async (args, message) => {
		const { code, stdout, stderr } = await simulate(args)
		expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
		expect(stderr).toContain(message)
	})

	test('finds a change in any of the policies, the same with one thread and two, and in the library', async () => {
		const file = new Folder().write('chain.json', chain)
		const args = [file, '--tune', ...one, '-n', '3', '--sensitivity', '--json', '-q']
		const [first, second] = await Promise.all(
			['1', '2'].map((threads) => simulate([...args, '--threads', threads])),
		)
		expect(first).toMatchObject({ code: 0, stderr: '' })
		expect(second?.stdout).toBe(first?.stdout)
		const constraints = { amplification: { atMost: 1 } }
		const expected = tune(['toWeb', 'toDb'], chain, { constraints, replications: 3, sensitivity: true })
		const { changes, policies, steps, sensitivity, after } = expected
		expect(JSON.parse(first?.stdout ?? '')).toMatchObject(
			JSON.parse(
				JSON.stringify({ changes, policies, steps, sensitivity, after: { measures: after?.measures } }),
			),
		)
	})

	test('reports a search without a result with exit code 4 and the nearest miss', async () => {
		const file = new Folder().write('mine.json', small)
		const args = [file, '--tune', '--assert', 'p99Ms<=1', '--max-steps', '4', '-n', '2']
		const { code, stdout, stderr } = await simulate(args)
		expect(code).toBe(4)
		expect(stdout).toMatch(/^Nearest miss: p99Ms is /m)
		expect(stderr).toContain('tuning: 100 %\n')
		expect(stderr).toMatch(
			/yaoki simulate: No policy satisfies all constraints: 4 tried, the limit of --max-steps\.\n$/,
		)
	})

	test('says which constraints it has without --assert', async () => {
		const file = new Folder().write('pair.json', pair)
		const { code, stdout, stderr } = await simulate([file, '--variant', 'none', '--tune', '--max-steps', '2'])
		expect(stderr).toContain('Without --assert, the constraints are: recovers, amplification<=2.\n')
		expect(stdout).toContain('Constraints for each of 3 runs: recovers, amplification<=2\n')
		expect([0, 4]).toContain(code)
	})

	test('leaves policies that are functions as they are', async () => {
		const code = `import { retry } from '${CORE}'\n${withPolicy('() => retry({ maxRetries: 1, baseDelayMs: 10 })')}`
		const file = new Folder().write('mine.ts', code)
		const { code: exit, stderr } = await simulate([file, '--tune', '-q'])
		expect(exit).toBe(2)
		expect(stderr).toContain('--tune requires a policy that is given as layers')
	})

	test('reports a run that throws, with its seed', async () => {
		const code = `export default { ...${JSON.stringify(small)}, until: () => { throw new Error('no end') } }`
		const file = new Folder().write('mine.mjs', code)
		const { code: exit, stderr } = await simulate([file, '--tune', '-q', '--threads', '2', '--seed', '7'])
		expect(exit).toBe(1)
		expect(stderr).toContain('mine: seed 7: no end\n')
	})

	test('prints the best so far after Ctrl-C, with exit code 130', async () => {
		const file = new Folder().write('mine.json', { ...small, durationMs: 20_000 })
		const args = [file, '--tune', '--assert', 'p99Ms<=1', '-n', '1', '--threads', '1']
		const { code, stdout, stderr } = await simulate(args, 'tuning: 10 %')
		expect(code).toBe(130)
		expect(stdout).toContain('No policy so far satisfies all constraints.\n')
		expect(stdout).toMatch(/^Nearest miss: p99Ms is /m)
		expect(stdout).toMatch(/\n\nInterrupted: the search is not complete\.\n$/)
		expect(stderr).not.toContain('No policy satisfies')
	})

	test('finds full jitter and 2 retries for the retry storm of the examples, as the guide shows it', async () => {
		const file = fileURLToPath(new URL('../../../../examples/retry-storm.json', import.meta.url))
		const shown = blocks(page('docs/guide/simulate-your-service.md')).find(({ code }) =>
			code.includes('--tune'),
		)
		const [, , , ...args] = shown?.code.trim().replaceAll('"', '').split(' ') ?? []
		expect(args).toContain('--sensitivity')
		const { code, stdout } = await simulate([file, ...args.slice(1), '-q'])
		expect(code).toBe(0)
		// The guide leaves out the TypeScript. Its figures are those of one version of the models.
		const structure = (text = '') =>
			text
				.split(/^(?:Policy|Which) /m)[0]
				?.replaceAll(/[\d.]+/g, '0')
				.replaceAll(/[─ ]+/g, ' ')
		expect(structure(stdout)).toBe(structure(shown?.prints))
		expect(stdout).toContain(
			"  Set client[0].retry.jitterStrategy to 'full' instead of 'none'.\n  Set client[0].retry.maxRetries to 2 instead of 4.\n",
		)
	})
})
