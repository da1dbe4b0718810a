/**
 * The commands that change messages: `outbox retry`, `outbox expire`, `outbox replay` and `outbox discard`. Each needs ids, a filter or `--all`.
 *
 * `retry` with a filter leaves scheduled messages without an attempt alone: a reminder for tomorrow must not go out because
 * billing is back. `discard` is the only command that loses data, so it needs `--yes`.
 */
import { describeOpenReason, describeOperatorPause } from '../../outbox/diagnostics/why.ts'
import { requireDeadLetters } from '../../outbox/operator/require-status.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import { formatCount, formatDuration } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { CliError } from '../errors.ts'
import { flag } from '../option-tables.ts'
import {
	FILTER_OPTIONS,
	LETTER_IDS,
	OPERATOR_OPTIONS,
	QUEUE_FILTER_OPTIONS,
	REPLAY_OPTIONS,
	type ReplayArguments,
	toSelection,
} from './filter-options.ts'
import { warnIfUnknown } from './unknown-destination.ts'

export const retry: Command = defineCommand({
	examples: [
		['yaoki outbox retry --destination billing', 'billing has recovered: skip the remaining backoff'],
		['yaoki outbox retry --destination billing --close-circuit', 'and do not wait for a probe'],
		[
			'yaoki outbox retry 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77',
			'one message, even if it is scheduled for later',
		],
	],
	options: {
		...DATABASE_OPTIONS,
		...QUEUE_FILTER_OPTIONS,
		all: flag('all messages that wait for a retry'),
		closeCircuit: flag('with --destination: also close its circuit and end a Retry-After'),
		...OPERATOR_OPTIONS,
	},
	positionals: {
		ids: {
			placeholder: 'ID',
			description: 'message ids; required to select scheduled messages that were never attempted',
			optional: true,
			multiple: true,
		},
	},
	async run(args, io) {
		const filter = toSelection(args, io.runtime.wallNow())
		const { all, closeCircuit, destination, by, reason } = args
		if (closeCircuit && destination === undefined)
			throw new CliError('usage', '--close-circuit requires --destination, without IDs.')
		const { withOutbox } = await import('./open-outbox.ts')
		return withOutbox(args, io, async ({ outbox, store, target }) => {
			const retried = await outbox.retry(filter, { all })
			const circuitClosed =
				closeCircuit && destination !== undefined
					? await outbox.closeCircuit(destination, { by, reason })
					: undefined
			const blocked = destination && (await describeBlock(store, destination, target.flags))
			const none =
				args.ids.length > 0 ? 'The messages are due already.' : 'No matching message waits for a retry.'
			const texts = [
				retried > 0 ? `${formatCount(retried, 'message')} due now.` : blocked ? undefined : none,
				closeCircuit && (circuitClosed ? 'The circuit is closed.' : 'Its circuit was not open.'),
				blocked,
			]
			io.result({ retried, circuitClosed }, sanitizeLine(texts.filter(Boolean).join(' ')))
			if (destination !== undefined && retried === 0) await warnIfUnknown(store, destination, io)
			return 'ok' as const
		})
	},
})

/** Returns why relays do not send to a destination, and the command that ends it; undefined if they do. */
async function describeBlock(
	store: OutboxStore,
	destination: string,
	flags: string,
): Promise<string | undefined> {
	const [circuit] = await store.circuits([destination])
	if (!circuit || (circuit.state === 'closed' && circuit.pausedForMs === 0)) return undefined
	const { operatorPause, reason, state, pausedForMs } = circuit
	if (operatorPause)
		return `${destination} is paused ${describeOperatorPause(operatorPause)}. Resume it: yaoki outbox resume ${destination}${flags}`
	const inMs = pausedForMs > 0 ? `in ${formatDuration(pausedForMs)}` : 'soon'
	const why =
		state === 'closed'
			? `${destination} returned Retry-After; sending resumes ${inMs}`
			: `The circuit of ${destination} is ${state} ${describeOpenReason(reason)}; a relay probes it ${inMs}`
	return `${why}. Do not wait for that: yaoki outbox retry --destination ${destination} --close-circuit${flags}`
}

export const expire: Command = defineCommand({
	examples: [
		[
			'yaoki outbox expire 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77',
			'end one message that is retried without limit',
		],
		['yaoki outbox expire --destination billing --until 2h', 'end older messages of a destination'],
	],
	options: {
		...DATABASE_OPTIONS,
		...QUEUE_FILTER_OPTIONS,
		all: flag('all queued messages'),
		...OPERATOR_OPTIONS,
	},
	positionals: {
		ids: { placeholder: 'ID', description: 'message ids', optional: true, multiple: true },
	},
	async run(args, io) {
		const filter = toSelection(args, io.runtime.wallNow())
		const { all, by, reason } = args
		const { withOutbox } = await import('./open-outbox.ts')
		return withOutbox(args, io, async ({ outbox }) => {
			const expired = await outbox.expire(filter, { all, by, reason })
			const text = `${formatCount(expired, 'message')} expired. A relay moves them to the dead letters.`
			io.result({ expired }, expired === 0 ? 'No queued message matches.' : text)
			return 'ok' as const
		})
	},
})

export const replay: Command = defineCommand({
	examples: [
		['yaoki outbox replay --fingerprint 3f9a0c1d2e4b --canary', 'one group of failures, step by step'],
		['yaoki outbox replay --destination billing --since 2h', 'recent dead letters of one destination'],
		[
			'yaoki outbox replay 019a8f0e-7b4c-7d31-9a52-0c8f1e6b2d77 --payload fixed.json',
			'one letter with a corrected payload',
		],
		['yaoki outbox replay --cause expired --expires 2h', 'expired letters, with a new expiry in two hours'],
	],
	options: REPLAY_OPTIONS,
	positionals: LETTER_IDS,
	async run(args, io) {
		checkReplayArguments(args)
		toSelection(args, io.runtime.wallNow())
		const { replayDeadLetters } = await import('./replay-dead-letters.ts')
		return replayDeadLetters(args, io)
	},
})

function checkReplayArguments({ all, canary, payload, expires, ids }: ReplayArguments): void {
	if (payload !== undefined && (ids.length !== 1 || canary || all))
		throw new CliError('usage', '--payload requires exactly one ID, without --all and --canary.')
	if (canary && expires !== undefined)
		throw new CliError('usage', '--expires cannot be combined with --canary.', {
			hint: 'Replay one letter by its ID first, then the others.',
		})
}

export const discard: Command = defineCommand({
	examples: [
		['yaoki outbox discard --cause expired', 'how many letters would be deleted'],
		['yaoki outbox discard --cause expired --yes', 'delete them'],
	],
	options: {
		...DATABASE_OPTIONS,
		...FILTER_OPTIONS,
		all: flag('all dead letters'),
		yes: flag('delete them; without it only the count is printed, with exit code 2', 'y'),
		keepHistory: flag('move them to the history instead'),
		...OPERATOR_OPTIONS,
	},
	positionals: LETTER_IDS,
	async run(args, io) {
		const { all, yes, by, reason } = args
		const filter = toSelection(args, io.runtime.wallNow())
		const { withOutbox } = await import('./open-outbox.ts')
		return withOutbox(args, io, async ({ outbox, store }) => {
			if (!yes) {
				await requireDeadLetters(store, filter.ids, 'discarded')
				const { count, isCapped } = await outbox.dead.count(filter)
				const letters = `${isCapped ? 'more than ' : ''}${formatCount(count, 'dead letter')}`
				throw new CliError('usage', `This would discard ${letters}.`, { hint: 'Add --yes to confirm.' })
			}
			const report = await outbox.dead.discard(filter, { all, by, reason, signal: io.signal })
			io.result(report, `Discarded ${formatCount(report.discarded, 'dead letter')}.`)
			return 'ok' as const
		})
	},
})
