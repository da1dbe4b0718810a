/** All panels, for the Grafana dashboard and for any other page that shows them. */
import type { Scope } from '../promql.ts'
import { calls } from './call-panels.ts'
import { limits } from './limit-panels.ts'
import { outbox } from './outbox-panels.ts'
import type { PanelGroup } from './panel.ts'
import { type AnswerThresholds, answers, questions } from './question-panels.ts'
import { idempotency, inbox, telemetry } from './server-panels.ts'
import { webhooks } from './webhook-panels.ts'

/** The windows of the queries. */
export interface PanelScopes {
	/** The whole selected time. */
	readonly selected: Scope
	/** A short time, for rates. */
	readonly recent: Scope
	/** The time between two values of a graph, for bars. */
	readonly step: Scope
}

export const panelGroups = (
	{ selected, recent, step }: PanelScopes,
	thresholds: AnswerThresholds,
): readonly PanelGroup[] => [
	answers(selected, thresholds),
	questions(recent, step),
	...[calls, limits, outbox, webhooks, inbox, idempotency, telemetry].map((group) => group(recent)),
]
