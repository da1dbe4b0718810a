/**
 * The work of `yaoki outbox replay`. Expired dead letters need care: a relay moves an expired message to the dead letters again
 * as soon as it claims it, so "due now" would be true for a moment and useless. All selected letters are read before anything
 * changes, one page at a time.
 */
import { text } from 'node:stream/consumers'
import type { DeadLetterChanges, ReplayOptions } from '../../outbox/dead-letters/options.ts'
import { DeadLetterNotFoundError, type MessageFilter, type Outbox } from '../../outbox/index.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import type { OperatorOptions } from '../../outbox/operator/operator.ts'
import { requireDeadLetters } from '../../outbox/operator/require-status.ts'
import { formatCount, formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { CliError, type ExitKind } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { parseJson, readJson } from '../user-files.ts'
import { type ReplayArguments, toFilter } from './filter-options.ts'
import { withOutbox } from './open-outbox.ts'
import { parseDuration, parseExpiry } from './parse-time.ts'

export async function replayDeadLetters(args: ReplayArguments, io: CommandIo): Promise<ExitKind> {
	const { payload: file, expires, canary, all, by, reason } = args
	const operator = { by, reason }
	const filter = toFilter(args, io.runtime.wallNow())
	const timeoutMs = parseDuration('--timeout', args.timeout)
	const expiryAt = (now: number) =>
		expires === undefined ? undefined : parseExpiry('--expires', expires, now)
	// Both are parsed before the database is opened: invalid arguments are reported first.
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
		if (payload && id !== undefined)
			return replayEdited(outbox, id, { payload: payload.value, expiresAt }, operator, io)
		if (expiresAt !== undefined) return replayWithExpiry(outbox, selected, expiresAt, operator, io)
		const valid = selected.filter((one) => !isExpired(one, now))
		const expired = selected.length - valid.length
		const replayed = expired === 0 ? filter : { ids: valid.map(({ id }) => id) }
		return replayUnchanged(outbox, replayed, expired, { canary, all, timeoutMs, ...operator }, io)
	})
}

async function replayEdited(
	outbox: Outbox,
	id: string,
	changes: DeadLetterChanges,
	operator: OperatorOptions,
	io: CommandIo,
): Promise<ExitKind> {
	await outbox.dead.edit(id, changes, operator)
	io.result({ replayed: 1, stopped: false, expired: 0 }, `Replayed ${id} with the new payload.`)
	return 'ok'
}

async function replayWithExpiry(
	outbox: Outbox,
	letters: readonly Letter[],
	expiresAt: Date | null,
	operator: OperatorOptions,
	io: CommandIo,
): Promise<ExitKind> {
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
	return 'ok'
}

/** Replays letters as they are and skips expired ones. */
async function replayUnchanged(
	outbox: Outbox,
	filter: MessageFilter,
	expired: number,
	mode: Pick<ReplayOptions, 'canary' | 'all' | 'timeoutMs' | 'by' | 'reason'>,
	io: CommandIo,
): Promise<ExitKind> {
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
	file === '-' ? parseJson('standard input', await text(process.stdin)) : readJson(file)
