/** All panels, for the Grafana dashboard and for any other page that shows them. */
import type { Scope } from '../promql.ts'
import { calls } from './call-panels.ts'
import { limits } from './limit-panels.ts'
import { outbox } from './outbox-panels.ts'
import type { PanelGroup } from './panel.ts'
import { answers, questions } from './question-panels.ts'
import { idempotency, telemetry } from './server-panels.ts'

/** Returns the panels. `selected` has the whole selected time as its window, `recent` a short one. */
export const panelGroups = (selected: Scope, recent: Scope): readonly PanelGroup[] => [
	answers(selected),
	...[questions, calls, limits, outbox, idempotency, telemetry].map((group) => group(recent)),
]
