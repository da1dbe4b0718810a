/** Webhooks: what it costs to write an event for many endpoints, and what hanging endpoints cost the others. */
import { column, type Report } from '../figure.ts'
import { middle, perSecond, type Taken, toGreatest } from './rounds.ts'
import { Servers, scaled } from './servers.ts'

const MESSAGES = 10_000

/** The names of the contenders in the process. */
export const PLAIN = 'outbox.enqueue, 100 messages per transaction'
export const FAN_OUT = 'webhooks.enqueue, one event for 100 endpoints'
export const ALL_WORK = '1,000 endpoints'
export const ONE_PERCENT_HANGS = '1,000 endpoints, 10 of them hang'

export function outboxWebhooks(): Promise<Report> {
	return Servers.during(async (servers) => {
		const child = await servers.contender('webhooks', './webhooks-process.ts')
		if (!child) throw new Error('PostgreSQL is not available')
		const count = scaled(MESSAGES)
		const taken: Taken = new Map(Object.entries((await child.ask('drain', count)).taken ?? {}))
		const figure = (name: string, of: string, to: string, needed: number) => {
			const ratio = toGreatest(taken, of, [to])
			return {
				figure: name,
				asked: `at least ${needed}`,
				measured: ratio.toFixed(2),
				reached: ratio >= needed,
			}
		}
		return {
			title: `Webhooks: rows and deliveries per second (${servers.about})`,
			lines: [PLAIN, FAN_OUT, ALL_WORK, ONE_PERCENT_HANGS].map((name) =>
				column(name, perSecond(middle(taken, name))),
			),
			figures: [
				figure('webhooks, rows of a fan-out relative to a plain batch', FAN_OUT, PLAIN, 0.8),
				figure('webhooks, deliveries while 1 % of the endpoints hang', ONE_PERCENT_HANGS, ALL_WORK, 0.9),
			],
			data: Object.fromEntries(taken),
		}
	})
}
