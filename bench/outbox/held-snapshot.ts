/**
 * A session that holds a snapshot for minutes keeps the dead rows of all messages that were sent since. Here 200 messages per second to an ordered and
 * as many to an unordered destination meet them: with few keys, each key has many dead rows.
 */
import { column, type Figure, type Report } from '../figure.ts'
import { DEAD_ROWS, KEYS, scenario } from './held-snapshot-scenarios.ts'
import { perSecond } from './rounds.ts'
import { Servers } from './servers.ts'

const MIN_SHARE = 0.85
const MAX_LAG_MS = 1_000

const inMs = (value: number): string => `${Math.round(value).toLocaleString('en-US')} ms`

export function outboxHeldSnapshot(): Promise<Report> {
	return Servers.during(async (servers) => {
		const child = await servers.contender('held', './held-snapshot-process.ts')
		if (!child) throw new Error('PostgreSQL is not available')
		const taken = (await child.ask('drain')).taken ?? {}
		const lines = Object.entries(taken).map(([name, values]) => {
			const [rate = 0, p50 = 0, p99 = 0, otherRate = 0, otherP50 = 0, otherP99 = 0, caughtUpMs = 0] = values
			return column(
				name,
				`ordered ${perSecond(rate)} p50 ${inMs(p50)} p99 ${inMs(p99)}`,
				`unordered ${perSecond(otherRate)} p50 ${inMs(otherP50)} p99 ${inMs(otherP99)}`,
				`prompt ${inMs(caughtUpMs)} after the start`,
			)
		})
		return {
			title: `Outbox: 200 ordered and 200 unordered messages per second over dead rows (${servers.about})`,
			lines,
			figures: DEAD_ROWS.flatMap((dead) => KEYS.map((keys) => figureOf(taken, dead, keys))),
			data: taken,
		}
	})
}

function figureOf(taken: Readonly<Record<string, readonly number[]>>, dead: number, keys: number): Figure {
	const [rate = 0, , p99 = Number.POSITIVE_INFINITY] = taken[scenario(dead, keys, true)] ?? []
	const [free = 0] = taken[scenario(dead, keys, false)] ?? []
	return {
		figure: `outbox, ordered traffic with a snapshot held: ${scenario(dead, keys, true)}`,
		asked: `at least ${MIN_SHARE} of the throughput without it, lag p99 below ${inMs(MAX_LAG_MS)}`,
		measured: `${(rate / free).toFixed(2)}, ${inMs(p99)}`,
		reached: rate / free >= MIN_SHARE && p99 < MAX_LAG_MS,
	}
}
