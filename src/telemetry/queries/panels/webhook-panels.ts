import { ENDPOINT_PATTERN } from '../../../webhooks/endpoint-names.ts'
import { endpointsDisabled } from '../five-questions.ts'
import { gauge, medianAndP99, rate, type Scope } from '../promql.ts'
import { lines, type PanelGroup } from './panel.ts'

const ENDPOINTS = { where: { destination: ENDPOINT_PATTERN } } as const
const DELIVERY = { metric: 'yaoki_relay_delivery_duration_seconds', ...ENDPOINTS }

export const webhooks = (scope: Scope): PanelGroup => ({
	title: 'Webhooks',
	panels: [
		lines(
			'How many endpoints are there?',
			'Enabled ones include failing ones. An endpoint is disabled by an operator, because it failed for too long, or because it is gone (410).',
			'count',
			{
				'{{service}} enabled': gauge({ metric: 'yaoki_webhook_enabled_endpoints' }, scope),
				'{{service}} failing': gauge({ metric: 'yaoki_webhook_failing_endpoints' }, scope),
				'{{service}} disabled: {{reason}}': gauge(
					{ metric: 'yaoki_webhook_disabled_endpoints', by: ['reason'] },
					scope,
				),
			},
		),
		lines(
			'How long has an endpoint failed?',
			'The enabled one that has failed for longest. After disableAfterMs it is disabled.',
			'seconds',
			gauge({ metric: 'yaoki_webhook_longest_failure_seconds' }, scope),
		),
		lines(
			'How many endpoints are disabled because of failures?',
			'Within the interval, by reason: failing for too long, or gone (410).',
			'count',
			{ '{{service}} {{reason}}': endpointsDisabled(scope) },
		),
		lines('How do deliveries to endpoints end?', 'Attempts per second by result.', 'per-second', {
			'{{service}} {{result}}': rate(
				{ metric: 'yaoki_relay_deliveries_total', by: ['result'], ...ENDPOINTS },
				scope,
			),
		}),
		lines(
			'How long do endpoints take?',
			'p50 and p99 of the attempts.',
			'seconds',
			medianAndP99(DELIVERY, scope),
		),
	],
})
