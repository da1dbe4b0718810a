/**
 * `yaoki schedule`: the delays of backoff options before they are written into a program. It prints the figures
 * of `schedule` in the root entry, with retries from 1. Options without effect are errors, because a
 * table that ignores one looks right.
 */

import { GROWTHS, JITTERS, type JitterStrategy, type NamedGrowth } from '../../core/backoff/formula.ts'
import { type BackoffOptions, selectJitter } from '../../core/backoff/options.ts'
import { presets } from '../../core/backoff/presets.ts'
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { schedule as computeSchedule, type RetrySchedule } from '../../core/retry/schedule.ts'
import { formatTable, type TableOptions } from '../../text/table.ts'
import { type Command, defineCommand } from '../command.ts'
import { usageError } from '../errors.ts'
import { integer, number, text } from '../option-tables.ts'

const namesOf = <Name extends string>(table: Readonly<Record<Name, unknown>>) => Object.keys(table) as Name[]

/** The flags of this command, by the options of the package that they set. */
const FLAGS: Readonly<Record<string, string>> = {
	baseDelayMs: '--base',
	maxDelayMs: '--cap',
	maxRetries: '--retries',
	jitterStrategy: '--jitter',
	jitterFactor: '--jitter-factor',
	jitterRangeMs: '--jitter-range',
}

export const schedule: Command = defineCommand({
	examples: [
		['yaoki schedule --base 1000 --cap 30000 --retries 5', 'the delays of five retries'],
		['yaoki schedule --preset background', 'the delays of a preset'],
		['yaoki schedule --preset background --retries 8', 'a preset with more retries'],
		['yaoki schedule --jitter proportional --jitter-factor 0.3 --json', 'the delays as data'],
	],
	options: {
		preset: text('NAME', 'start from a preset; the other options change it', { choices: namesOf(presets) }),
		base: number('MS', 'first step in milliseconds; default: 1000', { short: 'b', min: 0 }),
		cap: number('MS', 'maximum of every step in milliseconds, before jitter; default: 30000', {
			short: 'c',
			min: 0,
		}),
		retries: integer('N', 'retries after the first attempt; default: 3', { short: 'r', min: 0, max: 10_000 }),
		growth: text('NAME', 'how steps grow; default: exponential', { choices: namesOf(GROWTHS) }),
		factor: number('N', 'factor of exponential growth; default: 2', { min: 1 }),
		jitter: text('NAME', 'how delays are randomized; default: full', { choices: namesOf(JITTERS) }),
		jitterFactor: number('SHARE', 'proportional jitter adds at most this share of a step; default: 0.3', {
			min: 0,
			max: 1,
		}),
		jitterRange: number('MS', 'additive jitter adds at most this many milliseconds; default: 1000', {
			min: 0,
		}),
	},
	async run({ preset, base, cap, retries, growth, factor, jitter, jitterFactor, jitterRange }, io) {
		const chosen = preset === undefined ? undefined : presets[preset]
		const given: BackoffOptions = {
			baseDelayMs: base,
			maxDelayMs: cap,
			maxRetries: retries,
			growth,
			factor,
			jitterStrategy: jitter ?? chosen?.jitterStrategy,
			jitterFactor,
			jitterRangeMs: jitterRange,
		}
		const { delays, total } = withFlags(() => {
			checkEffects(given, selectJitter(given))
			return computeSchedule({ ...chosen, ...withoutUndefined(given) })
		})
		const result = {
			delays: delays.map(({ attempt, ...delay }) => ({ retry: attempt + 1, ...delay })),
			total,
		}
		io.result(result, () => scheduleText(result, { width: io.columns, style: io.style }))
	},
})

/** Rejects options that the strategy or the growth ignores. */
function checkEffects(
	{ growth, factor, jitterFactor, jitterRangeMs }: BackoffOptions,
	jitter: JitterStrategy,
): void {
	const needs = (flag: string, value: unknown, other: string, isMet: boolean) => {
		if (value !== undefined && !isMet) throw usageError(`${flag} requires ${other}.`)
	}
	const isDecorrelated = jitter.startsWith('decorrelated')
	const curve: NamedGrowth = 'exponential'
	needs('--jitter-factor', jitterFactor, '--jitter proportional', jitter === 'proportional')
	needs('--jitter-range', jitterRangeMs, '--jitter additive', jitter === 'additive')
	needs('--growth', growth, 'a --jitter that is not decorrelated', !isDecorrelated)
	needs('--factor', factor, 'a --jitter that is not decorrelated', !isDecorrelated)
	needs('--factor', factor, `--growth ${curve}`, (growth ?? curve) === curve)
}

/** An undefined value would override the value of the preset. */
const withoutUndefined = (options: BackoffOptions): BackoffOptions =>
	Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/** Errors name the flags, because the user of a command line never wrote `baseDelayMs`. */
function withFlags<T>(compute: () => T): T {
	try {
		return compute()
	} catch (error) {
		if (!(error instanceof InvalidOptionError)) throw error
		const { optionPath, received, expected } = error
		const inFlags = Object.entries(FLAGS).reduce((all, [name, flag]) => all.replaceAll(name, flag), expected)
		throw new InvalidOptionError(FLAGS[optionPath] ?? optionPath, received, inFlags)
	}
}

const BAR_COLUMNS = 16

interface NumberedDelays extends Pick<RetrySchedule, 'total'> {
	/** Retries count from 1. */
	readonly delays: readonly (RetrySchedule['total'] & { readonly retry: number })[]
}

/** Returns a table with bars: `█` reaches to the mean and `░` to the maximum. */
function scheduleText({ delays, total }: NumberedDelays, options: TableOptions): string {
	if (delays.length === 0) return 'No retries, so no delays.'
	const longestMs = Math.max(...delays.map(({ maxMs = 0 }) => maxMs))
	const bar = (meanMs: number, maxMs: number): string => {
		const columns = (ms: number) => (longestMs > 0 ? Math.round((ms / longestMs) * BAR_COLUMNS) : 0)
		return '█'.repeat(columns(meanMs)) + '░'.repeat(columns(maxMs) - columns(meanMs))
	}
	let soFarMs = 0
	const rows = delays.map(({ retry, minMs = 0, meanMs = 0, maxMs = 0 }) => {
		soFarMs += maxMs
		return [String(retry), minMs, meanMs, maxMs, soFarMs, bar(meanMs, maxMs)]
	})
	const { minMs = 0, meanMs = 0, maxMs = 0 } = total
	return formatTable(
		{
			head: ['retry', 'min ms', 'mean ms', 'max ms', 'max so far', ''],
			rows: [...rows, ['total', minMs, meanMs, maxMs]],
			align: ['right', 'right', 'right', 'right', 'right', 'left'],
		},
		options,
	)
}
