/**
 * A token bucket that all relays share: how many tokens there were at a moment of the database's clock. Taking is one
 * statement, whose row lock puts those who come together in a row; what was granted is written as well, since a statement
 * can only answer what it wrote. A clock that was set back fills nothing in.
 */
import type { Rate, TokenGrant } from '../rows.ts'
import type { Database } from './connection.ts'

/** $2 is how many are asked for, $3 to $5 the rate: its limit, interval and burst. */
const FILLED = `least($5::int, coalesce(d.tokens, $5::int)
	+ greatest(0, excluded.tokens_at - coalesce(d.tokens_at, 0)) * $3::double precision / $4::double precision)`

/** A hair more, or a third of a token three times would make none. */
const GRANT = `greatest(0, least($2::int, floor(${FILLED} + 1e-6)::int))`

const TAKE = `
insert into {s}.outbox_destinations as d (destination, tokens, tokens_at, granted)
values ($1::text, $5::int - least($2::int, $5::int), {now}, least($2::int, $5::int))
on conflict (destination) do update set
	tokens = greatest(0, ${FILLED} - ${GRANT}), tokens_at = excluded.tokens_at, granted = ${GRANT}
returning tokens, granted`

export async function takeTokens(
	database: Database,
	destination: string,
	count: number,
	rate: Rate,
): Promise<TokenGrant> {
	const { limit, intervalMs, burst } = rate
	const values = [destination, count, limit, intervalMs, burst]
	const [bucket] = await database.run<{ tokens: number; granted: number }>(TAKE, values)
	const granted = Number(bucket?.granted)
	const left = Number(bucket?.tokens)
	return { granted, inMs: granted < count ? Math.max(1, Math.ceil(((1 - left) * intervalMs) / limit)) : 0 }
}

const RETURN = `
update {s}.outbox_destinations set tokens = least($3::int, tokens + $2::int) where destination = $1::text and tokens is not null`

export async function returnTokens(
	database: Database,
	destination: string,
	count: number,
	rate: Rate,
): Promise<void> {
	await database.run(RETURN, [destination, count, rate.burst])
}
