/** The commands that only read: `webhooks list` and `webhooks show`. */

import type { CappedCount } from '../../outbox/store/store-stats.ts'
import type { WebhookEndpointFilter } from '../../outbox/webhooks/endpoint-options.ts'
import { formatNumber } from '../../text/format.ts'
import { type Command, defineCommand } from '../command.ts'
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { integer, text } from '../option-tables.ts'
import { ENDPOINT_ID, EXAMPLE_ENDPOINT, requireEndpoint, withWebhooks } from './open-webhooks.ts'
import { renderEndpoint, renderEndpoints } from './render-endpoints.ts'

const STATES: Readonly<Record<'enabled' | 'failing' | 'disabled', WebhookEndpointFilter>> = {
	enabled: { isEnabled: true },
	failing: { isFailing: true },
	disabled: { isEnabled: false },
}

export const list: Command = defineCommand({
	examples: [
		['yaoki webhooks list --state failing', 'enabled endpoints whose last attempt failed'],
		['yaoki webhooks list --tenant customer-7', 'the endpoints of one customer'],
		['yaoki webhooks list --json', 'all of them, for a program'],
	],
	options: {
		...DATABASE_OPTIONS,
		state: text('STATE', 'endpoints in this state; failing ones are enabled too', {
			choices: ['enabled', 'failing', 'disabled'],
		}),
		tenant: text('NAME', "endpoints of this tenant; '' for those without a tenant"),
		topic: text('TOPIC', 'endpoints with exactly this topic or pattern', { short: 't' }),
		limit: integer('N', 'maximum number of results', { short: 'n', default: 100, min: 1, max: 10_000 }),
		after: text('ID', 'continue after this endpoint'),
	},
	run: ({ state, tenant, topic, limit, after, ...args }, io) =>
		withWebhooks(args, io, async ({ endpoints }) => {
			const filter = { ...(state && STATES[state]), tenant, topic }
			const found = await endpoints.list(filter, { limit, after })
			io.result(found, () => renderEndpoints(found, io))
			if (found.length === limit)
				io.note(`There may be more. Continue with --after ${found.at(-1)?.id}, or raise --limit.`)
		}),
})

const COUNT_LIMIT = 10_000

const capped = ({ count, isCapped }: CappedCount): string => `${formatNumber(count)}${isCapped ? '+' : ''}`

const NOTHING: CappedCount = { count: 0, isCapped: false }

export const show: Command = defineCommand({
	examples: [
		[`yaoki webhooks show ${EXAMPLE_ENDPOINT}`, 'its state, since when it fails, and its messages'],
		[`yaoki webhooks show ${EXAMPLE_ENDPOINT} --json`, 'for a program, with the query of the URL'],
	],
	options: DATABASE_OPTIONS,
	positionals: ENDPOINT_ID,
	run: ({ id, ...args }, io) =>
		withWebhooks(args, io, async (open) => {
			const endpoint = await requireEndpoint(open, id)
			const { destinations } = await open.store.stats(COUNT_LIMIT, endpoint.destination)
			const counts = destinations.find(({ destination }) => destination === endpoint.destination)
			const { due = NOTHING, scheduled = NOTHING, inFlight = NOTHING, dead = NOTHING } = counts ?? {}
			const messages = { due, scheduled, inFlight, dead }
			io.result({ ...endpoint, messages }, () =>
				renderEndpoint(
					endpoint,
					{
						due: capped(due),
						scheduled: capped(scheduled),
						inFlight: capped(inFlight),
						dead: capped(dead),
					},
					io,
				),
			)
		}),
})
