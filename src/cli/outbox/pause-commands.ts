/**
 * `outbox pause` and `outbox resume`. Closing a circuit is an option of `resume` and `retry` and not a
 * command of its own: it is what an operator means by "send now", and a separate command would be one more to
 * remember during an incident.
 */
import { describeOperatorPause } from '../../outbox/diagnostics/why.ts'
import type { OutboxStore } from '../../outbox/store/store.ts'
import { formatDuration } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import type { CommandIo } from '../io.ts'
import { flag, text } from '../option-tables.ts'
import { OPERATOR_OPTIONS } from './filter-options.ts'
import { withOutbox } from './open-outbox.ts'
import { parseDuration } from './parse-time.ts'

const DESTINATION = {
	destination: { placeholder: 'DESTINATION', description: 'name of the destination' },
} as const

const MIN_PAUSE_MS = 1

export const pause: Command = defineCommand({
	examples: [
		['yaoki outbox pause billing --reason "database migration"', 'until yaoki outbox resume billing'],
		['yaoki outbox pause billing --for 2h', 'for two hours'],
	],
	options: {
		...DATABASE_OPTIONS,
		for: text('2h', 'how long; default until it is resumed'),
		...OPERATOR_OPTIONS,
	},
	positionals: DESTINATION,
	async run({ destination, ...args }, io) {
		const { by, reason } = args
		const forMs = args.for === undefined ? undefined : parseDuration('--for', args.for, MIN_PAUSE_MS)
		return withOutbox(args, io, async ({ outbox, store }) => {
			await outbox.pause(destination, { forMs, by, reason })
			const [circuit] = await store.circuits([destination])
			const paused = circuit?.operatorPause
			const details = paused ? ` ${describeOperatorPause(paused)}` : ''
			io.result(
				{ destination, by: paused?.by, reason: paused?.reason, pausedForMs: paused?.pausedForMs },
				sanitizeLine(`${destination} is paused${details}.`),
			)
			await warnIfUnknown(store, destination, io)
		})
	},
})

export const resume: Command = defineCommand({
	examples: [
		['yaoki outbox resume billing', 'end a pause'],
		['yaoki outbox resume billing --close-circuit', 'also if its circuit is open or it sent a Retry-After'],
	],
	options: {
		...DATABASE_OPTIONS,
		closeCircuit: flag('also close an open circuit and end a Retry-After'),
		...OPERATOR_OPTIONS,
	},
	positionals: DESTINATION,
	async run({ destination, ...args }, io) {
		const { closeCircuit, by, reason } = args
		return withOutbox(args, io, async ({ outbox, store }) => {
			const isResumed = await outbox.resume(destination, { closeCircuit, by, reason })
			const [circuit] = await store.circuits([destination])
			const { state = 'closed', pausedForMs = 0 } = circuit ?? {}
			io.result(
				{ destination, resumed: isResumed, circuit: state, pausedForMs },
				sanitizeLine(isResumed ? `${destination} is resumed.` : `${destination} was not paused.`),
			)
			if (!isResumed) await warnIfUnknown(store, destination, io)
			if (state !== 'closed' || pausedForMs > 0) {
				const why = state === 'closed' ? 'It sent a Retry-After' : `Its circuit is ${state}`
				const until = pausedForMs > 0 ? ` for another ${formatDuration(pausedForMs)}` : ''
				io.note(`${why}, so it stays paused${until}. Add --close-circuit to send immediately.`)
			}
		})
	},
})

/** Warns about a probably misspelled destination: its pause or retry would look like success. */
export async function warnIfUnknown(store: OutboxStore, destination: string, io: CommandIo): Promise<void> {
	const [{ destinations }, relays] = await Promise.all([store.stats(1, destination), store.relays()])
	const [counts] = destinations
	const hasMessages = [counts?.due, counts?.scheduled, counts?.inFlight, counts?.dead].some(
		(one) => (one?.count ?? 0) > 0,
	)
	if (hasMessages || relays.some(({ destinations: names }) => names.includes(destination))) return
	io.warn(`No message and no relay names destination "${destination}". Check its spelling.`)
}
