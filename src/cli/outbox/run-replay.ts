/** The work of `yaoki outbox replay`. */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { DeadLetterChanges } from '../../outbox/dead-letters/options.ts'
import type { MessageFilter, Outbox } from '../../outbox/index.ts'
import { formatNumber } from '../../text/format.ts'
import type { ExitKind } from '../errors.ts'
import { CliError, toFailure } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { checkChosen } from './chosen.ts'
import { byExpiry, leftText, refuseExpired, type Sorted, WAYS_OUT } from './expired.ts'
import { type AskedFilter, filterOf } from './filter-options.ts'
import { withOutbox } from './open.ts'
import type { AskedDatabase } from './target.ts'
import { readDuration, readExpiry } from './times.ts'

export interface AskedReplay extends AskedDatabase, AskedFilter {
	readonly ids: readonly string[]
	readonly all: boolean
	readonly canary: boolean
	readonly timeout: string
	readonly payload: string | undefined
	readonly expires: string | undefined
}

export async function runReplay(asked: AskedReplay, io: CommandIo): Promise<ExitKind> {
	const { ids, payload: file, expires } = asked
	const filter = filterOf(asked, io.runtime.wallNow())
	const timeoutMs = readDuration('--timeout', asked.timeout)
	const expiry = (now: number) => (expires === undefined ? undefined : readExpiry('--expires', expires, now))
	// Both are read before anything is opened: what is typed wrong must not wait for a database.
	expiry(io.runtime.wallNow())
	const payload = file === undefined ? undefined : await jsonOf(file)
	return withOutbox(asked, io, async ({ outbox, store }) => {
		const letters = await checkChosen(outbox, ids, 'dead')
		// Relays go by the database's clock.
		const now = await store.now()
		const expiresAt = expiry(now)
		if (expiresAt === undefined) refuseExpired(letters, now)
		const [letter] = letters
		if (payload && letter) return mended(outbox, letter.id, { payload: payload.value, expiresAt }, io)
		const found = await byExpiry(outbox, filter, now, io.signal)
		if (expiresAt !== undefined) return renewed(outbox, found.all, expiresAt, io)
		return replayed(outbox, found.expired.length === 0 ? filter : { ids: found.alive }, found, {
			...{ canary: asked.canary, all: asked.all, timeoutMs },
			io,
		})
	})
}

/** One, with another payload. */
async function mended(
	outbox: Outbox,
	id: string,
	changes: DeadLetterChanges,
	io: CommandIo,
): Promise<ExitKind> {
	const count = Number(await outbox.dead.edit(id, changes))
	io.result(
		{ replayed: count, stopped: false, expired: 0 },
		count === 1 ? `${id} was changed, and is due now` : `${id} is gone`,
	)
	return count === 1 ? 'ok' : 'notFound'
}

/** All of these, with another expiry. */
async function renewed(
	outbox: Outbox,
	ids: readonly string[],
	expiresAt: Date | null,
	io: CommandIo,
): Promise<ExitKind> {
	let count = 0
	const progress = io.progress('replaying', ids.length)
	for (const [done, id] of ids.entries()) {
		if (io.signal.aborted) break
		progress.update(done)
		if (await outbox.dead.edit(id, { expiresAt })) count += 1
	}
	progress.end()
	const until = expiresAt === null ? 'without an expiry' : `to expire at ${expiresAt.toISOString()}`
	io.result({ replayed: count, stopped: io.signal.aborted, expired: 0 }, `${countText(count)}, ${until}`)
	return 'ok'
}

interface How {
	readonly canary: boolean
	readonly all: boolean
	readonly timeoutMs: number
	readonly io: CommandIo
}

/** As they are, without those whose time is over. */
async function replayed(
	outbox: Outbox,
	filter: MessageFilter,
	{ expired }: Sorted,
	{ io, ...options }: How,
): Promise<ExitKind> {
	const report = await outbox.dead.replay(filter, { ...options, signal: io.signal })
	const { stoppedBy, reason } = report
	const count = countText(report.replayed)
	const told = reason === undefined ? count : `${count}, then it stopped: ${reason}`
	io.result({ ...report, expired: expired.length }, told + leftText(expired.length))
	if (expired.length > 0) io.note(WAYS_OUT)
	const isWhole = (stoppedBy === undefined || stoppedBy === 'aborted') && expired.length === 0
	return isWhole ? 'ok' : 'checkFailed'
}

const countText = (count: number): string =>
	`${formatNumber(count)} dead ${count === 1 ? 'letter was' : 'letters were'} replayed`

/** What is in a file, or comes in by standard input. */
async function jsonOf(file: string): Promise<{ readonly value: unknown }> {
	const [name, json] =
		file === '-'
			? (['standard input', await text(process.stdin)] as const)
			: ([file, await contentOf(file)] as const)
	try {
		return { value: JSON.parse(json.replace(/^\uFEFF/, '')) }
	} catch (cause) {
		throw new CliError('usage', `${name}: is no JSON: ${toFailure(cause).message}`, { cause })
	}
}

async function contentOf(file: string): Promise<string> {
	try {
		return await readFile(file, 'utf8')
	} catch (cause) {
		const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
		const message = isMissing ? `there is no file '${file}'` : `${file}: ${toFailure(cause).message}`
		throw new CliError(isMissing ? 'notFound' : 'failure', message, { cause })
	}
}
