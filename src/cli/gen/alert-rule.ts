export interface AlertRule {
	readonly alert: string
	/** Lines of PromQL. */
	readonly expression: readonly string[]
	/** How long the expression must be true. */
	readonly for: string
	/** `critical`: messages are or will be lost, or late for hours. `warning`: look today. `info`: a reminder. */
	readonly severity: 'critical' | 'warning' | 'info'
	readonly summary: string
	readonly description: string
}
