/**
 * The time from the response to the commit until the handler is called, at 100 messages per second with an open-loop schedule. In one process, where
 * the relay is notified directly, and across two, where it is notified through the database. Both use the system's monotonic clock. Reported
 * are the medians over the rounds of p50 and p99.
 */
import { column, type Figure, type Report } from '../figure.ts'
import { median } from '../harness.ts'
import type { Child } from './child.ts'
import { BULLMQ_POSTGRES, BULLMQ_REDIS, GRAPHILE, PG_BOSS, RAW, YAOKI } from './peers/index.ts'
import { Servers, share } from './servers.ts'

const ROUNDS = 3
const MESSAGES = Math.max(20, Math.round(120 * share))
const CONTENDERS = [RAW, YAOKI, GRAPHILE, PG_BOSS, BULLMQ_POSTGRES, BULLMQ_REDIS]

interface Latency {
	readonly p50: number
	readonly p99: number
}

interface Pair {
	readonly name: string
	readonly sender: Child
	readonly other: Child
	readonly within: Latency[]
	readonly across: Latency[]
}

async function measure(sender: Child, listener: Child, count: number): Promise<Latency> {
	await listener.ask('listen')
	const { moments: sent = [] } = await sender.ask('send', count)
	const { moments: heard = [] } = await listener.ask('handledAt', count)
	const heardAt = new Map(heard)
	const waits = sent.map(([seq, at]) => ((heardAt.get(seq) ?? Number.NaN) - at) / 1e6).sort((a, b) => a - b)
	const quantile = (share: number) => waits[Math.min(waits.length - 1, Math.floor(waits.length * share))]
	return { p50: quantile(0.5) ?? Number.NaN, p99: quantile(0.99) ?? Number.NaN }
}

const middleOf = (rounds: readonly Latency[]): Latency => ({
	p50: median(rounds.map(({ p50 }) => p50)),
	p99: median(rounds.map(({ p99 }) => p99)),
})

const ms = (value: number): string => `${value.toFixed(1)} ms`

function figure(name: string, most: number, measured: number): Figure {
	return {
		figure: `outbox, commit to handler at 100 msg/s, ${name}`,
		asked: `at most ${most} ms`,
		measured: ms(measured),
		reached: measured <= most,
	}
}

export function outboxLatency(): Promise<Report> {
	return Servers.during(async (servers) => {
		const pairs: Pair[] = []
		for (const name of CONTENDERS) {
			const sender = await servers.contender(name)
			const other = sender && (await servers.contender(name))
			if (other) pairs.push({ name, sender, other, within: [], across: [] })
		}
		for (const { sender, other } of pairs) {
			await measure(sender, sender, 20)
			await measure(sender, other, 20)
		}
		for (let round = 0; round < ROUNDS; round++) {
			for (let at = 0; at < pairs.length; at++) {
				const pair = pairs[(round + at) % pairs.length]
				pair?.within.push(await measure(pair.sender, pair.sender, MESSAGES))
				pair?.across.push(await measure(pair.sender, pair.other, MESSAGES))
			}
		}
		const ours = pairs.find(({ name }) => name === YAOKI)
		const [within, across] = [middleOf(ours?.within ?? []), middleOf(ours?.across ?? [])]
		return {
			title: `Outbox: from commit to handler at 100 msg/s, p50 and p99, in one process and across two (${servers.about})`,
			lines: [
				...pairs.map((pair) => {
					const [one, two] = [middleOf(pair.within), middleOf(pair.across)]
					return column(pair.name, ms(one.p50), ms(one.p99), ms(two.p50), ms(two.p99))
				}),
				...CONTENDERS.filter((name) => !pairs.some((pair) => pair.name === name)).map((name) =>
					column(name, 'not measured: its server is not installed'),
				),
			],
			figures: [
				figure('one process, p50', 2.5, within.p50),
				figure('one process, p99', 8, within.p99),
				figure('across processes, p50', 6, across.p50),
			],
			data: pairs.map(({ name, within, across }) => ({ name, within, across })),
		}
	})
}
