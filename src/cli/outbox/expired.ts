/**
 * Dead letters whose time is over. A relay buries such a letter again as soon as it comes to it, so a replay that says "is due now" would be
 * true for a moment and useless. All that match are looked at before anything is done, a page at a time.
 */

import type { MessageFilter, Outbox } from '../../outbox/index.ts'
import type { MessageRecord } from '../../outbox/message/message.ts'
import { formatDuration, formatNumber } from '../../text/format.ts'
import { CliError } from '../errors.ts'

/** Each comes with its payload, which may have megabytes. */
const PAGE = 200

/** The letters that match, by whether a relay would still send them. */
export interface Sorted {
	/** Oldest first. */
	readonly all: readonly string[]
	readonly alive: readonly string[]
	readonly expired: readonly string[]
}

const isExpired = ({ expiresAt }: MessageRecord, now: number): boolean =>
	expiresAt !== undefined && expiresAt.getTime() <= now

export async function byExpiry(
	outbox: Outbox,
	filter: MessageFilter,
	now: number,
	signal: AbortSignal,
): Promise<Sorted> {
	const [all, alive, expired]: [string[], string[], string[]] = [[], [], []]
	let after: string | undefined
	do {
		signal.throwIfAborted()
		const letters = await outbox.dead.list(filter, { limit: PAGE, after })
		for (const letter of letters) {
			all.push(letter.id)
			const kind = isExpired(letter, now) ? expired : alive
			kind.push(letter.id)
		}
		after = letters.length === PAGE ? letters.at(-1)?.id : undefined
	} while (after !== undefined)
	return { all, alive, expired }
}

/** What to do about them. */
export const WAYS_OUT =
	'Add --expires never to send them all the same, or --expires 2h to give them two hours from now.'

/** Of letters that were named one by one none may be left behind in silence. */
export function refuseExpired(letters: readonly MessageRecord[], now: number): void {
	const [first, ...more] = letters.filter((letter) => isExpired(letter, now))
	if (!first?.expiresAt) return
	const others = more.length === 0 ? '' : `, and so did ${formatNumber(more.length)} more`
	const ago = formatDuration(now - first.expiresAt.getTime())
	throw new CliError(
		'checkFailed',
		`${first.id} expired ${ago} ago${others}: it would be dead again at once`,
		{
			hint: WAYS_OUT,
		},
	)
}

/** What is said of those that were left. */
export function leftText(count: number): string {
	if (count === 0) return ''
	return `; ${formatNumber(count)} ${count === 1 ? 'was left, for its' : 'were left, for their'} time is over`
}
