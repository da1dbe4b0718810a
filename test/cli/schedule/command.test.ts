import { describe, expect, test } from 'vitest'
import { presets, schedule } from 'yaoki'
import { run } from '../outbox/run-yaoki.ts'

const scheduleOf = async (...args: string[]): Promise<unknown> => {
	const { code, stdout, stderr } = await run(['schedule', '--json', ...args])
	expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
	return JSON.parse(stdout)
}

test('prints each delay, the sum of the maxima so far and the totals, with retries from 1', async () => {
	const args = ['--base', '1000', '--cap', '30000', '--retries', '6', '--jitter', 'proportional']
	const { code, stdout } = await run(['schedule', ...args, '--jitter-factor', '0.3'])
	expect(code).toBe(0)
	expect(stdout.split('\n')).toEqual([
		'retry   min ms   mean ms   max ms   max so far',
		'─────   ──────   ───────   ──────   ──────────   ────────────────',
		'    1    1,000     1,150    1,300        1,300   ░',
		'    2    2,000     2,300    2,600        3,900   █',
		'    3    4,000     4,600    5,200        9,100   ██',
		'    4    8,000     9,200   10,400       19,500   ████',
		'    5   16,000    18,400   20,800       40,300   ████████░',
		'    6   30,000    34,500   39,000       79,300   ██████████████░░',
		'total   61,000    70,150   79,300',
		'',
	])
})

test('draws delays of 0 without a bar, and says so if there are no retries', async () => {
	const { stdout } = await run(['schedule', '--base', '0', '--retries', '1'])
	expect(stdout).toContain('    1        0         0        0            0\n')
	expect((await run(['schedule', '--retries', '0'])).stdout).toBe('No retries, so no delays.\n')
})

describe('--json prints what schedule returns, with retries from 1', () => {
	test.each([
		[[], {}],
		[
			['--growth', 'fibonacci', '--base', '50', '--cap', '70'],
			{ growth: 'fibonacci', baseDelayMs: 50, maxDelayMs: 70 },
		],
		[['--factor', '3', '--jitter', 'none'], { factor: 3, jitterStrategy: 'none' }],
		[['--jitter-factor', '0.5'], { jitterFactor: 0.5 }],
		[['--jitter-range', '70'], { jitterRangeMs: 70 }],
		[['--preset', 'background'], presets.background],
		[['--preset', 'background', '--retries', '2'], { ...presets.background, maxRetries: 2 }],
		[['--preset', 'background', '--jitter-factor', '0.1'], { ...presets.background, jitterFactor: 0.1 }],
		[['--preset', 'messageQueue', '--base', '10'], { ...presets.messageQueue, baseDelayMs: 10 }],
		[['--preset', 'database', '--jitter', 'full'], { ...presets.database, jitterStrategy: 'full' }],
	] as const)('%j', async (args, options) => {
		const { delays, total } = schedule(options)
		const retries = delays.map(({ attempt, ...delay }) => ({ retry: attempt + 1, ...delay }))
		expect(await scheduleOf(...args)).toEqual({ delays: retries, total })
	})
})

test.each([
	[
		['--base', '50000'],
		'Invalid option "--cap": expected at least --base (50000) instead of the default, got 30000',
	],
	[
		['--jitter-factor', '0.1', '--jitter-range', '5'],
		`Invalid option "--jitter": expected 'proportional' or 'additive' beside --jitter-factor and --jitter-range`,
	],
	[['--jitter', 'full', '--jitter-factor', '0.1'], '--jitter-factor requires --jitter proportional.'],
	[['--preset', 'background', '--jitter-range', '5'], '--jitter-range requires --jitter additive.'],
	[['--growth', 'linear', '--factor', '3'], '--factor requires --growth exponential.'],
	[
		['--preset', 'messageQueue', '--growth', 'linear'],
		'--growth requires a --jitter that is not decorrelated.',
	],
	[['--jitter', 'decorrelated', '--factor', '3'], '--factor requires a --jitter that is not decorrelated.'],
	[['--preset', 'batsh'], 'Unknown value "batsh" for --preset. Did you mean "batch"?'],
	[['--retries', '-1'], 'Invalid option "--retries": expected an integer from 0 to 10000, got "-1"'],
])('%j is rejected', async (args, message) => {
	const { code, stdout, stderr } = await run(['schedule', ...args])
	expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
	expect(stderr).toContain(message)
})
