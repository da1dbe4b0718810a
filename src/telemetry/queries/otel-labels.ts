/**
 * Rewrites finished queries and texts for metrics that come from OpenTelemetry: metric names are the same,
 * labels are the attributes. Queries are written once, with the labels of the catalog, so a new panel or rule
 * cannot forget the other names.
 */
import { OTEL_ATTRIBUTES } from '../metrics/otel-names.ts'

/** Returns the label that Prometheus makes of the attribute of a label. Others, such as `job`, stay. */
export const toOtelLabel = (label: string): string => (OTEL_ATTRIBUTES[label] ?? label).replaceAll('.', '_')

/** Texts in quotes, and words. A word with `$` is a variable of Grafana. */
const TOKEN = /"(?:[^"\\]|\\.)*"?|\$?\w+/g

/** Rewrites PromQL. */
export const toOtelQuery = (query: string): string =>
	query.replace(TOKEN, (token) => (Object.hasOwn(OTEL_ATTRIBUTES, token) ? toOtelLabel(token) : token))

/** Rewrites `{{label}}` in the name of a series. */
export const toOtelLegend = (legend: string): string =>
	legend.replace(/\{\{(\w+)\}\}/g, (_, label: string) => `{{${toOtelLabel(label)}}}`)

/** Rewrites `$labels.label` in the text of an alert. */
export const toOtelText = (text: string): string =>
	text.replace(/\$labels\.(\w+)/g, (_, label: string) => `$labels.${toOtelLabel(label)}`)
