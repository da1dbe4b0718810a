/** Why a message is a dead letter, since when, and what to do about it: one sentence. */
import type { StoredMessage } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import { formatDuration } from './duration.ts'
import { failureText } from './failure-text.ts'

const SAME_KEY = 10

export async function whyDead(store: Store, message: StoredMessage, now: number): Promise<string> {
	const { endedAt, cause, error, attempts, crashes, expiresAt } = message
	const since =
		endedAt === null
			? 'It became a dead letter'
			: `It became a dead letter ${formatDuration(now - endedAt)} ago`
	// With a history a message that was discarded can still be read, and there is nothing left to do about it.
	const { count } = await store.countDead({ ids: [message.id] }, 1)
	if (count === 0) return whyDiscarded(message, now)
	const failure = failureText(error, ': ')
	if (cause === 'expired') {
		const late = expiresAt === null ? '' : ` at ${new Date(expiresAt).toISOString()}`
		return `${since}, for its time was over${late} before it was sent${failureText(error, ' (latest failure: ')}${error ? ')' : ''}: replay it with a later expiresAt, or discard it.`
	}
	if (cause === 'crashed')
		return `${since}, for ${crashes} processes died while they had it${failure}; find out what in it kills its handler before it is replayed, or discard it.`
	if (cause === 'predecessor-dead') {
		const ahead = await aheadOf(store, message)
		return `${since}, for it was behind a dead letter of the same key '${message.key}'${ahead}: replay that one first and then this one.`
	}
	const why =
		cause === 'permanent'
			? `no retry would have helped after attempt ${attempts}`
			: `its retries were used up after ${attempts} attempts`
	return `${since}, for ${why}${failure}; mend the cause and replay it, or discard it.`
}

const whyDiscarded = ({ endedAt, error }: StoredMessage, now: number): string =>
	`It was a dead letter and was discarded${endedAt === null ? '' : ` ${formatDuration(now - endedAt)} ago`}, so it will not be sent${failureText(error, '; its latest failure was ')}.`

/** The one that it was parked behind, if that is still there. */
async function aheadOf(store: Store, { id, key, destination }: StoredMessage): Promise<string> {
	if (key === null) return ''
	const letters = await store.list({ destination, key, status: 'dead' }, SAME_KEY)
	const first = letters.find((letter) => letter.id !== id && letter.cause !== 'predecessor-dead')
	return first ? ` (${first.id}${failureText(first.error, ', ')})` : ''
}
