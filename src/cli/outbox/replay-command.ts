/**
 * `yaoki outbox replay`. Expired dead letters need care: a relay moves an expired message to the
 * dead letters again as soon as it claims it, so "due now" would be true for a moment and useless. All
 * selected letters are read before anything changes, one page at a time.
 */
import { text as readText } from 'node:stream/consumers'
import type { ReplayOptions } from '../../outbox/dead-letters/options.ts'
import { DeadLetterNotFoundError, type MessageFilter, type Outbox } from '../../outbox/index.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import type { OperatorOptions } from '../../outbox/operator/operator.ts'
import { requireDeadLetters } from '../../outbox/operator/require-status.ts'
import { formatCount, formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { type Command, type CommandResult, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { CliError, usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { flag, text } from '../option-tables.ts'
import { parseJson, readJson } from '../user-files.ts'
import { EXAMPLE_ID, FILTER_OPTIONS, LETTER_IDS, OPERATOR_OPTIONS, toSelection } from './filter-options.ts'
import { withOutbox } from './open-outbox.ts'
import { parseDuration, parseExpiry } from './parse-time.ts'

export const replay: Command = defineCommand({
	examples: [
		['yaoki outbox replay --fingerprint 3f9a0c1d2e4b --canary', 'one group of failures, step by step'],
		['yaoki outbox replay --destination billing --since 2h', 'recent dead letters of one destination'],
		[`yaoki outbox replay ${EXAMPLE_ID} --payload fixed.json`, 'one letter with a corrected payload'],
		['yaoki outbox replay --cause expired --expires 2h', 'expired letters, with a new expiry in two hours'],
	],
	options: {
		...DATABASE_OPTIONS,
		...FILTER_OPTIONS,
		all: flag('all dead letters'),
		canary: flag('replay 1, then 10, then the rest; stop if they fail again', 'c'),
		timeout: text('1m', 'with --canary: how long to wait for each step', { default: '1m' }),
		payload: text('FILE|-', 'with one ID: JSON file with a new payload, or - for standard input'),
		expires: text(
			'never|2h|DATE',
			'set a new expiry; without it expired letters are skipped, with exit code 4',
		),
		...OPERATOR_OPTIONS,
	},
	positionals: LETTER_IDS,
	async run(args, io) {
		const { payload: file, expires, canary, all, by, reason, ids } = args
		if (file !== undefined && (ids.length !== 1 || canary || all))
			throw usageError('--payload requires exactly one ID, without --all and --canary.')
		if (canary && expires !== undefined)
			throw usageError('--expires cannot be combined with --canary.', {
				hint: 'Replay one letter by its ID first, then the others.',
			})
		const operator = { by, reason }
		const filter = toSelection(args, io.runtime.wallNow())
		const timeoutMs = parseDuration('--timeout', args.timeout)
		const expiryAt = (now: number) =>
			expires === undefined ? undefined : parseExpiry('--expires', expires, now)
		// Expiry and payload are read before the database is opened: invalid arguments are reported first.
		expiryAt(io.runtime.wallNow())
		const payload = file === undefined ? undefined : { value: await readPayload(file) }
		return withOutbox(args, io, async ({ outbox, store }) => {
			await requireDeadLetters(store, filter.ids, 'replayed')
			// Relays use the clock of the database.
			const now = await store.now()
			const expiresAt = expiryAt(now)
			const selected = await selectLetters(outbox, filter, io.signal)
			if (expiresAt === undefined && filter.ids) rejectExpired(selected, now)
			const [id] = filter.ids ?? []
			if (payload && id !== undefined) {
				await outbox.dead.edit(id, { payload: payload.value, expiresAt }, operator)
				io.result({ replayed: 1, stopped: false, expired: 0 }, `Replayed ${id} with the new payload.`)
				return
			}
			if (expiresAt !== undefined) return replayWithExpiry(outbox, selected, expiresAt, operator, io)
			const valid = selected.filter((one) => !isExpired(one, now))
			const expired = selected.length - valid.length
			const replayed = expired === 0 ? filter : { ids: valid.map(({ id }) => id) }
			return replayUnchanged(outbox, replayed, expired, { canary, all, timeoutMs, ...operator }, io)
		})
	},
})

async function replayWithExpiry(
	outbox: Outbox,
	letters: readonly Letter[],
	expiresAt: Date | null,
	operator: OperatorOptions,
	io: CommandIo,
): Promise<undefined> {
	let replayed = 0
	const progress = io.progress('replaying', letters.length)
	for (const [done, { id }] of letters.entries()) {
		if (io.signal.aborted) break
		progress.update(done)
		try {
			await outbox.dead.edit(id, { expiresAt }, operator)
			replayed += 1
		} catch (error) {
			// Another operator replayed or discarded it since it was selected.
			if (!(error instanceof DeadLetterNotFoundError)) throw error
		}
	}
	progress.end()
	const expiry = expiresAt === null ? 'without an expiry' : `with expiry ${expiresAt.toISOString()}`
	const message = `Replayed ${formatCount(replayed, 'dead letter')} ${expiry}.`
	io.result({ replayed, stopped: io.signal.aborted, expired: 0 }, message)
}

/** Replays letters as they are and skips expired ones. */
async function replayUnchanged(
	outbox: Outbox,
	filter: MessageFilter,
	expired: number,
	mode: Pick<ReplayOptions, 'canary' | 'all' | 'timeoutMs' | 'by' | 'reason'>,
	io: CommandIo,
): CommandResult {
	const report = await outbox.dead.replay(filter, { ...mode, signal: io.signal })
	const { replayed, stoppedBy, reason } = report
	const parts = [
		`Replayed ${formatCount(replayed, 'dead letter')}.`,
		...(reason === undefined ? [] : [`Stopped: ${reason.replace(/\.$/, '')}.`]),
		...(expired === 0 ? [] : [`Skipped ${formatNumber(expired)} expired.`]),
	]
	io.result({ ...report, expired }, sanitizeLine(parts.join(' ')))
	if (expired > 0) io.note(EXPIRED_HINT)
	const isComplete = (stoppedBy === undefined || stoppedBy === 'abort') && expired === 0
	return isComplete ? 'ok' : 'checkFailed'
}

const EXPIRED_HINT =
	'Add --expires never to replay expired letters without an expiry, or --expires 2h to let them expire in two hours.'

type Letter = Pick<MessageRecord, 'id' | 'expiresAt'>

const isExpired = ({ expiresAt }: Letter, now: number): boolean =>
	expiresAt !== undefined && expiresAt.getTime() <= now

/** Letters given by id must not be skipped silently. */
function rejectExpired(letters: readonly Letter[], now: number): void {
	const [first, ...more] = letters.filter((letter) => isExpired(letter, now))
	if (!first?.expiresAt) return
	const others = more.length === 0 ? '' : `, and ${formatNumber(more.length)} more`
	const ago = formatDuration(now - first.expiresAt.getTime())
	throw new CliError(
		'checkFailed',
		`Message ${first.id} expired ${ago} ago${others}. It would become a dead letter again immediately.`,
		{ hint: EXPIRED_HINT },
	)
}

/** Small because each letter comes with its payload, which can have megabytes. */
const PAGE_SIZE = 200

/** Returns all letters that match, oldest first. */
async function selectLetters(
	outbox: Outbox,
	filter: MessageFilter,
	signal: AbortSignal,
): Promise<readonly Letter[]> {
	const selected: Letter[] = []
	let after: string | undefined
	do {
		signal.throwIfAborted()
		const page = await outbox.dead.list(filter, { limit: PAGE_SIZE, after })
		for (const { id, expiresAt } of page) selected.push({ id, expiresAt })
		after = page.length === PAGE_SIZE ? page.at(-1)?.id : undefined
	} while (after !== undefined)
	return selected
}

/** Reads a payload from a file, or from standard input for `-`. */
const readPayload = async (file: string): Promise<unknown> =>
	file === '-' ? parseJson('standard input', await readText(process.stdin)) : readJson(file)
