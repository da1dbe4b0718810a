/** Dead letters by group, the audit, and the endpoints of webhooks: a page each. */
import { invalidArgument } from '../../core/options/schema.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { WebhookEndpoint } from '../../outbox/webhooks/endpoint.ts'
import type { Webhooks } from '../../outbox/webhooks/webhooks.ts'
import type { AuditPage, DeadGroups, EndpointRow, EndpointsPage } from '../contract.ts'
import type { Query } from '../parts.ts'
import { deadActions, endpointActions } from './commands.ts'
import { checkId, QueryReader } from './input.ts'
import { toAuditRow } from './rows.ts'
import type { QueueSettings } from './settings.ts'

export async function readDead(
	source: string,
	outbox: Outbox,
	query: Query,
	settings: QueueSettings,
): Promise<DeadGroups> {
	const reader = new QueryReader(query, ['outbox', 'destination', 'limit'])
	const destination = reader.text('destination')
	const limit = reader.limit()
	const groups = await outbox.dead.groups(destination === undefined ? {} : { destination }, {
		limit: limit + 1,
	})
	return {
		groups: groups.slice(0, limit).map((group) => {
			const { fingerprint, cause } = group
			const selection = { fingerprint, destination: group.destination, cause }
			const { errorType, errorMessage } = group
			return {
				...selection,
				count: { count: group.count, isCapped: group.isCapped },
				error:
					errorType === undefined
						? null
						: settings.redact(errorMessage ? `${errorType}: ${errorMessage}` : errorType, 'error'),
				firstAt: group.firstAt.getTime(),
				lastAt: group.lastAt.getTime(),
				exampleId: group.exampleId,
				actions: deadActions(source, selection, settings.flags),
			}
		}),
		hasMore: groups.length > limit,
	}
}

export async function readAudit(outbox: Outbox, query: Query, settings: QueueSettings): Promise<AuditPage> {
	const reader = new QueryReader(query, ['outbox', 'destination', 'messageId', 'by', 'before', 'limit'])
	const before = reader.get('before')
	if (before !== undefined && !/^\d{1,15}$/.test(before))
		invalidArgument('before', before, 'the value of next of the previous page')
	const limit = reader.limit()
	const conditions = {
		destination: reader.text('destination'),
		messageId: reader.id('messageId'),
		by: reader.text('by'),
	}
	const page = { limit: limit + 1, before: before === undefined ? undefined : Number(before) }
	const records = await outbox.audit(conditions, page)
	const shown = records.slice(0, limit)
	return {
		records: shown.map((record) => toAuditRow(record, settings)),
		next: records.length > limit ? String(shown.at(-1)?.id) : null,
	}
}

const ENDPOINT_PARAMETERS = ['webhooks', 'tenant', 'isFailing', 'isEnabled', 'after', 'limit']

export async function readEndpoints(
	source: string,
	webhooks: Webhooks,
	query: Query,
	settings: QueueSettings,
): Promise<EndpointsPage> {
	const reader = new QueryReader(query, ENDPOINT_PARAMETERS)
	const isEnabled = reader.oneOf('isEnabled', ['true', 'false'])
	const isFailing = reader.oneOf('isFailing', ['true'])
	// The empty text selects endpoints without a tenant.
	const tenant = reader.get('tenant') === '' ? '' : reader.text('tenant')
	const afterText = reader.get('after')
	const after = afterText === undefined ? undefined : checkId('after', afterText, 'the id of an endpoint')
	const limit = reader.limit()
	const filter = {
		tenant,
		isEnabled: isEnabled === undefined ? undefined : isEnabled === 'true',
		isFailing: isFailing === undefined ? undefined : (true as const),
	}
	const found = await webhooks.endpoints.list(filter, { limit: limit + 1, after })
	const shown = found.slice(0, limit)
	return {
		endpoints: shown.map((endpoint) => toEndpointRow(source, endpoint, settings)),
		next: found.length > limit ? (shown.at(-1)?.id ?? null) : null,
	}
}

const DAY_MS = 86_400_000

/** Secrets are not part of an endpoint; a URL may have one in its query. */
function toEndpointRow(source: string, endpoint: WebhookEndpoint, settings: QueueSettings): EndpointRow {
	const { id, isEnabled, disabledAt, failingSince } = endpoint
	// What was not delivered meanwhile.
	const since = (failingSince ?? disabledAt)?.getTime() ?? settings.runtime.wallNow() - DAY_MS
	return {
		id,
		tenant: endpoint.tenant ?? '',
		url: settings.redact(endpoint.url, 'url'),
		topics: endpoint.topics,
		description: endpoint.description ?? null,
		isEnabled,
		disabledReason: endpoint.disabledReason ?? null,
		disabledAt: disabledAt?.getTime() ?? null,
		failingSince: failingSince?.getTime() ?? null,
		failures: endpoint.failures,
		actions: endpointActions(source, { id, isEnabled, since }, settings.flags),
	}
}
