/**
 * The commands that change messages: `outbox retry`, `outbox expire`, `outbox resend` and `outbox discard`;
 * `outbox replay` has a file of its own. Each needs ids, a filter or `--all`; `resend` needs an id.
 *
 * `retry` with a filter leaves scheduled messages without an attempt alone: a reminder for tomorrow must not
 * go out because billing is back. `discard` is the only command that loses data, so it needs `--yes`.
 */
import { describeOpenReason, describeOperatorPause } from '../../outbox/diagnostics/why.ts'
import { requireDeadLetters } from '../../outbox/operator/require-status.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import { formatCount, formatDuration } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { endpointIdOf, isEndpoint } from '../../webhooks/endpoint-names.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { usageError } from '../errors.ts'
import { flag } from '../option-tables.ts'
import {
	EXAMPLE_ID,
	FILTER_OPTIONS,
	LETTER_IDS,
	OPERATOR_OPTIONS,
	QUEUE_FILTER_OPTIONS,
	toSelection,
} from './filter-options.ts'
import { withOutbox } from './open-outbox.ts'
import { warnIfUnknown } from './pause-commands.ts'

export const retry: Command = defineCommand({
	examples: [
		['yaoki outbox retry --destination billing', 'billing has recovered: skip the remaining backoff'],
		['yaoki outbox retry --destination billing --close-circuit', 'and do not wait for a probe'],
		[`yaoki outbox retry ${EXAMPLE_ID}`, 'one message, even if it is scheduled for later'],
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
			throw usageError('--close-circuit requires --destination, without IDs.')
		return withOutbox(args, io, async ({ outbox, store, target }) => {
			const retried = await outbox.retry(filter, { all, by, reason })
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
	if (reason === 'disabled' && isEndpoint(destination))
		return `${destination} is disabled. Enable it: yaoki webhooks enable ${endpointIdOf(destination)}${flags}`
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
		[`yaoki outbox expire ${EXAMPLE_ID}`, 'end one message that is retried without limit'],
		['yaoki outbox expire --destination billing --until 2h', 'end older messages of a destination'],
	],
	options: {
		...DATABASE_OPTIONS,
		...QUEUE_FILTER_OPTIONS,
		all: flag('all queued messages'),
		...OPERATOR_OPTIONS,
	},
	positionals: { ids: { placeholder: 'ID', description: 'message ids', optional: true, multiple: true } },
	async run(args, io) {
		const filter = toSelection(args, io.runtime.wallNow())
		const { all, by, reason } = args
		return withOutbox(args, io, async ({ outbox }) => {
			const expired = await outbox.expire(filter, { all, by, reason })
			const text = `${formatCount(expired, 'message')} expired. A relay moves them to the dead letters.`
			io.result({ expired }, expired === 0 ? 'No queued message matches.' : text)
		})
	},
})

export const resend: Command = defineCommand({
	examples: [
		[
			`yaoki outbox resend ${EXAMPLE_ID} --reason 'lost by the receiver'`,
			'deliver a sent message again, with the same id',
		],
	],
	options: { ...DATABASE_OPTIONS, ...OPERATOR_OPTIONS },
	positionals: { id: { placeholder: 'ID', description: 'id of a sent message that is kept in the history' } },
	run: ({ id, by, reason, ...args }, io) =>
		withOutbox(args, io, async ({ outbox }) => {
			await outbox.resend(id, { by, reason })
			io.result({ resent: 1 }, `Message ${id} is queued again.`)
		}),
})

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
		return withOutbox(args, io, async ({ outbox, store }) => {
			if (!yes) {
				await requireDeadLetters(store, filter.ids, 'discarded')
				const { count, isCapped } = await outbox.dead.count(filter)
				const letters = `${isCapped ? 'more than ' : ''}${formatCount(count, 'dead letter')}`
				throw usageError(`This would discard ${letters}.`, { hint: 'Add --yes to confirm.' })
			}
			const report = await outbox.dead.discard(filter, { all, by, reason, signal: io.signal })
			io.result(report, `Discarded ${formatCount(report.discarded, 'dead letter')}.`)
		})
	},
})
