/**
 * Situations, and the alerts that fire in them: all of them, so each case also shows which alerts stay silent. One sample a minute, in the notation of
 * promtool: `0+5x30` are 31 samples from 0 in steps of 5, `_x9` are ten missing ones.
 */
export interface AlertCase {
	readonly name: string
	/** Values by series, without the label job. */
	readonly series: Readonly<Record<string, string>>
	/** What fires after a number of minutes: alerts with their labels, except for job and severity. */
	readonly firing: Readonly<Record<number, readonly string[]>>
	/** Minutes between two evaluations of the rules, 1 by default. Windows of days need time. */
	readonly evaluatedEvery?: number
}

const calls = 'yaoki_calls_total{service="pay", outcome="success"}'
const rescued = 'yaoki_retried_calls_total{service="pay", result="success"}'
const lost = 'yaoki_retried_calls_total{service="pay", result="failure"}'
const retries = 'yaoki_retries_total{service="pay"}'

const failed = 'yaoki_calls_total{service="pay", outcome="failure"}'
const errorRate = 'YaokiErrorRateHigh{service="pay"}'
const burn = (window: string): string => `YaokiSloBurn${window}{service="pay"}`

const ERRORS: readonly AlertCase[] = [
	{
		name: 'a service without retries and circuits fails one call in ten',
		series: { [calls]: '0+90x120', [failed]: '0+10x120' },
		firing: {
			2: [],
			30: [errorRate, burn('1h'), burn('6h')],
			100: [errorRate, burn('1h'), burn('6h'), burn('1d')],
		},
	},
	{
		name: 'one call in ten is rejected',
		series: { [calls]: '0+90x60', 'yaoki_calls_total{service="pay", outcome="rejected"}': '0+10x60' },
		firing: { 30: [errorRate, burn('1h'), burn('6h')] },
	},
	{
		name: 'four calls in a hundred fail',
		series: { [calls]: '0+96x60', [failed]: '0+4x60' },
		firing: { 2: [], 30: [burn('1h'), burn('6h')] },
	},
	{
		name: 'every call fails, but there is one a minute',
		series: { [calls]: '0x60', [failed]: '0+1x60' },
		firing: { 15: [], 30: [burn('1h')] },
	},
	{
		name: 'one of two calls of an hour fails',
		series: { [calls]: '0x29 1x90', [failed]: '0x9 1x110' },
		firing: { 12: [], 30: [], 60: [], 100: [] },
	},
	{
		name: 'all calls get their fallback',
		series: { 'yaoki_calls_total{service="pay", outcome="fallback"}': '0+100x60', [failed]: '0x60' },
		firing: { 30: [] },
	},
	{
		name: 'forty of a thousand calls fail within a minute of a good day',
		series: { [calls]: '0+100x1000', [failed]: '0x719 40x280' },
		firing: { 725: [], 730: [], 740: [], 800: [] },
		evaluatedEvery: 5,
	},
]

/** After a day without errors: 1,440 minutes with 1,000 calls each. */
const afterGoodDay = (failures: number, minutes: number) => ({
	[calls]: `0+1000x1440 ${1_440_000 + 1000 - failures}+${1000 - failures}x${minutes - 1} ${1_440_000 + (1000 - failures) * minutes}+1000x120`,
	[failed]: `0x1440 ${failures}+${failures}x${minutes - 1} ${failures * minutes}x120`,
})

const OBJECTIVE: readonly AlertCase[] = [
	{
		name: 'two percent of the calls fail for an hour',
		series: afterGoodDay(20, 60),
		firing: { 1440: [], 1465: [], 1490: [burn('1h')], 1515: [] },
		evaluatedEvery: 5,
	},
	{
		name: 'one percent of the calls fails for half a day',
		series: afterGoodDay(10, 720),
		firing: { 1600: [], 1740: [burn('6h')], 2040: [burn('6h'), burn('1d'), burn('3d')] },
		evaluatedEvery: 10,
	},
	{
		name: 'four calls in a thousand fail for ten hours',
		series: { [calls]: '0+996x600', [failed]: '0+4x600' },
		firing: { 30: [], 150: [burn('1d')], 500: [burn('1d'), burn('3d')] },
		evaluatedEvery: 10,
	},
	{
		name: 'two calls in a thousand fail for ten hours',
		series: { [calls]: '0+998x600', [failed]: '0+2x600' },
		firing: { 120: [], 400: [burn('3d')] },
		evaluatedEvery: 10,
	},
	{
		name: 'one call in two thousand fails, which the objective allows',
		series: { [calls]: '0+1999x600', [failed]: '0+1x600' },
		firing: { 120: [], 400: [], 600: [] },
		evaluatedEvery: 10,
	},
]

const RETRIES: readonly AlertCase[] = [
	{
		name: 'counters of a service without traffic do not move',
		series: { [calls]: '100x120', [rescued]: '5x120', [lost]: '60x120', [retries]: '200x120' },
		firing: { 30: [], 120: [] },
	},
	{
		name: 'a process has just started, all counters are 0',
		series: { [calls]: '0x60', [rescued]: '0x60', [lost]: '0x60', [retries]: '0x60' },
		firing: { 8: [], 60: [] },
	},
	{
		name: 'a fifth of the calls is retried and succeeds',
		series: { [calls]: '0+100x60', [rescued]: '0+20x60', [retries]: '0+20x60' },
		firing: { 4: [], 30: ['YaokiRetryRateHigh{service="pay"}'] },
	},
	{
		name: 'a fifth of the calls is retried for three minutes only',
		series: {
			[calls]: '0+100x60',
			[rescued]: '0x30 20 40 60 60x30',
			[retries]: '0x30 20 40 60 60x30',
		},
		firing: { 36: [], 60: [] },
	},
	{
		name: 'a twentieth of the calls is retried',
		series: { [calls]: '0+100x60', [rescued]: '0+5x60', [retries]: '0+5x60' },
		firing: { 30: [] },
	},
	{
		name: 'every call is retried and fails, but there is one a minute',
		series: { [calls]: '0+1x60', [lost]: '0+1x60', [retries]: '0+1x60' },
		firing: { 30: [] },
	},
	{
		name: 'the few calls that are retried fail',
		series: { [calls]: '0+1000x60', [rescued]: '0+1x60', [lost]: '0+9x60', [retries]: '0+20x60' },
		firing: { 30: ['YaokiRetriesFail{service="pay"}'] },
	},
	{
		name: 'the few calls that are retried fail, and none has ever succeeded',
		series: { [calls]: '0+1000x60', [lost]: '0+9x60', [retries]: '0+20x60' },
		firing: { 30: ['YaokiRetriesFail{service="pay"}'] },
	},
	{
		name: 'most of the few calls that are retried succeed',
		series: { [calls]: '0+1000x60', [rescued]: '0+6x60', [lost]: '0+4x60', [retries]: '0+20x60' },
		firing: { 30: [] },
	},
	{
		name: 'few calls are retried, each many times',
		series: { [calls]: '0+100x60', [rescued]: '0+9x60', [retries]: '0+60x60' },
		firing: { 30: ['YaokiRetriesPerCallHigh{service="pay"}'] },
	},
	{
		name: 'one call in ten minutes is retried ten times',
		series: {
			[calls]: '0x9 1x9 2x9 3x9 4x9',
			[lost]: '0x9 1x9 2x9 3x9 4x9',
			[retries]: '0x9 10x9 20x9 30x9 40x9',
		},
		firing: { 45: [] },
	},
]

const state = 'circuit_breaker_state{service="pay"}'
const isolated = 'yaoki_circuit_breaker_isolated{service="pay"}'
const turnedAway = 'yaoki_rejected_calls_total{service="pay", reason="circuit-open"}'
const reopened = 'yaoki_circuit_breaker_transitions_total{service="pay", from="half-open", to="open"}'
const destinationReopened =
	'yaoki_relay_transitions_total{service="relay", destination="billing", from="half-open", to="open"}'

const CIRCUITS: readonly AlertCase[] = [
	{
		name: 'a circuit stays open',
		series: { [state]: '0x9 1x50', [isolated]: '0x60', [turnedAway]: '_x9 0+7x50' },
		firing: { 9: [], 13: [], 20: ['YaokiCircuitOpen{service="pay"}'] },
	},
	{
		name: 'a circuit changes between open and half-open',
		series: { [state]: '0 1 2 1 2 1 2 1 2 1 2', [isolated]: '0x60', [turnedAway]: '0+1x10' },
		firing: { 10: ['YaokiCircuitOpen{service="pay"}'] },
	},
	{
		name: 'a circuit opens, and its dependency is not called any more',
		series: { [state]: '0x9 1x120', [isolated]: '0x120', [turnedAway]: '0x9 7x120' },
		firing: { 13: [], 20: [], 120: [] },
	},
	{
		name: 'the circuit of a tenant that left is open, and other tenants are served',
		series: { [calls]: '0+100x120', [state]: '1x120', [isolated]: '0x120', [turnedAway]: '3x120' },
		firing: { 30: [], 120: [] },
	},
	{
		name: 'calls to an open circuit end after half an hour',
		series: { [state]: '1x120', [isolated]: '0x120', [turnedAway]: '0+7x30 210x90' },
		firing: { 20: ['YaokiCircuitOpen{service="pay"}'], 40: [] },
	},
	{
		name: 'a circuit in shadow mode opens and rejects no call',
		series: { 'yaoki_circuit_breakers{service="pay", state="open"}': '1x60', [calls]: '0+100x60' },
		firing: { 30: [] },
	},
	{
		name: 'a circuit is open for three minutes',
		series: { [state]: '0 1 1 1 0x60', [isolated]: '0x60', [turnedAway]: '0 7 14 21 21x60' },
		firing: { 3: [], 10: [] },
	},
	{
		name: 'an operator isolates a circuit',
		series: { [state]: '1x120', [isolated]: '1x120' },
		firing: { 30: [], 70: ['YaokiCircuitIsolated{service="pay"}'] },
	},
	{
		name: 'the circuit of a destination stays open',
		series: { 'yaoki_outbox_circuit_state{service="outbox", destination="billing"}': '1x30' },
		firing: { 10: ['YaokiCircuitOpen{service="outbox", destination="billing"}'] },
	},
	{
		name: 'three probes fail between two scrapes, the first ever',
		series: { [reopened]: '_x19 3x60' },
		firing: { 22: ['YaokiCircuitReopens{service="pay"}'], 50: [] },
	},
	{
		name: 'a new instance crashes again and again, after one or two failed probes each time',
		series: { [reopened.replace('}', ', instance="b"}')]: '_x19 1 2 1 2 1 2 1 2 1 2 1 2' },
		firing: { 20: [], 27: ['YaokiCircuitReopens{service="pay"}'] },
	},
	{
		name: 'two probes fail',
		series: { [reopened]: '_x19 2x60' },
		firing: { 22: [] },
	},
	{
		name: 'probes fail again after a quiet hour',
		series: { [reopened]: '5x90 6 7 8 9 9x60' },
		firing: { 80: [], 97: ['YaokiCircuitReopens{service="pay"}'], 120: [] },
	},
	{
		name: 'probes of a destination fail',
		series: { [destinationReopened]: '0+1x30' },
		firing: { 20: ['YaokiCircuitReopens{service="relay", destination="billing"}'] },
	},
]

const dead = 'yaoki_relay_dead_letters_total{service="relay", destination="billing", cause="permanent"}'
const deadAlert = 'YaokiDeadLetters{service="relay", destination="billing", cause="permanent"}'
const stored = 'yaoki_outbox_dead_letters{service="outbox", destination="billing"}'
const storedAlert = 'YaokiDeadLetters{service="outbox", destination="billing"}'
const age = 'yaoki_outbox_oldest_age_seconds{service="outbox", destination="billing"}'
const lag = 'yaoki_outbox_oldest_lag_seconds{service="outbox", destination="billing"}'
const due = 'yaoki_outbox_due_messages{service="outbox", destination="billing"}'
const relays = 'yaoki_outbox_relays{service="outbox"}'
const operatorPause = 'yaoki_outbox_pause_state{service="outbox", destination="billing", reason="operator"}'
const askedPause = 'yaoki_outbox_pause_state{service="outbox", destination="billing", reason="retry-after"}'
const noRelay = 'YaokiNoRelay{service="outbox"}'

const OUTBOX: readonly AlertCase[] = [
	{
		name: 'the first dead letter of a process',
		series: { [dead]: '_x29 1x60' },
		firing: { 29: [], 32: [deadAlert], 60: [] },
	},
	{
		name: 'one more dead letter',
		series: { [dead]: '7x90 8x60' },
		firing: { 85: [], 95: [deadAlert], 120: [] },
	},
	{
		name: 'the process is restarted a minute after its first dead letter',
		series: { [dead]: '_x29 1 1 _x60' },
		firing: { 29: [], 33: [deadAlert], 40: [deadAlert], 60: [] },
	},
	{
		name: 'a deploy replaces the instance a minute after the first dead letter, and old ones stay counted',
		series: {
			[dead.replace('}', ', instance="a"}')]: '7x29 8 8 _x60',
			[dead.replace('}', ', instance="b"}')]: '_x31 0x60',
		},
		firing: { 29: [], 33: [deadAlert], 40: [deadAlert], 60: [] },
	},
	{
		name: 'a process crashes before a scrape sees its first dead letter',
		series: { [stored]: '_x29 1x60', [relays]: '1x90' },
		firing: { 29: [], 32: [storedAlert], 40: [storedAlert], 60: [] },
	},
	{
		name: 'the number of dead letters in the store grows, and then shrinks by a replay',
		series: { [stored]: '7x29 9x5 0x60', [relays]: '1x90' },
		firing: { 29: [], 32: [storedAlert], 40: [], 60: [] },
	},
	{
		name: 'counter and store show the same dead letter: one alert',
		series: { [dead]: '_x29 1x60', [stored]: '0x29 1x60', [relays]: '1x90' },
		firing: { 32: [deadAlert], 60: [] },
	},
	{
		name: 'old dead letters in the store, and telemetry has just started',
		series: { [stored]: '7x60', [relays]: '1x60' },
		firing: { 5: [], 30: [] },
	},
	{
		name: 'old dead letters in the store, a deploy with a new instance, and a scrape gap',
		series: {
			[stored.replace('}', ', instance="a"}')]: '7x59 _x90',
			[stored.replace('}', ', instance="b"}')]: '_x79 7x60',
			[relays]: '1x59 _x19 1x60',
		},
		firing: { 62: [], 82: [], 100: [], 120: [] },
	},
	{
		name: 'old dead letters, and the process is restarted',
		series: { [dead]: '7x90 0x60' },
		firing: { 85: [], 95: [] },
	},
	{
		name: 'old dead letters, and no scrape succeeds for twenty minutes',
		series: { [dead]: '7x90 _x20 7x60' },
		firing: { 113: [], 125: [] },
	},
	{
		name: 'a message is older than an hour',
		series: { [age]: '3000+60x60' },
		firing: { 10: [], 30: ['YaokiOutboxAge{service="outbox", destination="billing"}'] },
	},
	{
		name: 'a message is sent shortly after an hour',
		series: { [age]: '3300+60x8 10x60' },
		firing: { 8: [], 20: [] },
	},
	{
		name: 'messages are due for more than five minutes',
		series: { [lag]: '0+60x30', [due]: '9x30', [relays]: '2x30' },
		firing: { 6: [], 20: ['YaokiOutboxLag{service="outbox", destination="billing"}'] },
	},
	{
		name: 'an operator pauses a destination, and its messages wait',
		series: {
			[lag]: '0+60x120',
			[age]: '0+60x120',
			[due]: '9x120',
			[relays]: '2x120',
			[operatorPause]: '1x120',
		},
		firing: { 20: [], 60: [], 80: ['YaokiDestinationPaused{service="outbox", destination="billing"}'] },
	},
	{
		name: 'an operator pauses a destination without messages',
		series: { [lag]: '0x120', [age]: '0x120', [due]: '0x120', [relays]: '2x120', [operatorPause]: '1x120' },
		firing: { 20: [], 100: [] },
	},
	{
		name: 'the pause of another destination hides nothing',
		series: { [lag]: '0+60x30', [relays]: '2x30', [operatorPause.replace('billing', 'mail')]: '1x30' },
		firing: { 20: ['YaokiOutboxLag{service="outbox", destination="billing"}'] },
	},
	{
		name: 'a pause ends, and relays send what waited',
		series: { [lag]: '0+60x40 2400x2 0x60', [relays]: '2x100', [operatorPause]: '1x40 0x60' },
		firing: { 40: [], 43: [], 60: [] },
	},
	{
		name: 'a pause ends, and relays do not send what waited',
		series: { [lag]: '0+60x90', [relays]: '2x90', [operatorPause]: '1x40 0x60' },
		firing: { 40: [], 43: [], 60: ['YaokiOutboxLag{service="outbox", destination="billing"}'] },
	},
	{
		name: 'a destination asks for pauses: the relays are not too slow, but after an hour the message is not delivered',
		series: { [lag]: '0+60x120', [age]: '0+60x120', [relays]: '2x120', [askedPause]: '1x120' },
		firing: { 20: [], 60: [], 80: ['YaokiOutboxAge{service="outbox", destination="billing"}'] },
	},
	{
		name: 'messages are due, and relays take them',
		series: { [lag]: '20x30', [age]: '20x30', [due]: '900x30', [relays]: '1x30' },
		firing: { 20: [] },
	},
	{
		name: 'messages are due and there is no relay',
		series: { [due]: '5x30', [relays]: '0x30' },
		firing: { 1: [], 10: [noRelay] },
	},
	{
		name: 'the number of relays is unknown',
		series: { [due]: '5x30' },
		firing: { 10: [noRelay] },
	},
	{
		name: 'there is no relay and nothing to send',
		series: { [due]: '0x30', [relays]: '0x30' },
		firing: { 10: [] },
	},
	{
		name: 'relays are restarted within two minutes',
		series: { [due]: '5x30', [relays]: '1x9 0 1x30' },
		firing: { 10: [], 12: [] },
	},
	{
		name: 'two processes observe one outbox',
		series: {
			'yaoki_outbox_due_messages{service="outbox", destination="billing", instance="a"}': '5x30',
			'yaoki_outbox_due_messages{service="outbox", destination="billing", instance="b"}': '5x30',
			'yaoki_outbox_relays{service="outbox", instance="a"}': '1x30',
			'yaoki_outbox_relays{service="outbox", instance="b"}': '1x30',
		},
		firing: { 10: [] },
	},
]

const disabledEndpoints = (reason: string): string =>
	`yaoki_webhook_endpoints_disabled_total{service="hooks", reason="${reason}"}`
const storedDisabled = (reason: string): string =>
	`yaoki_webhook_disabled_endpoints{service="hooks", reason="${reason}"}`
const enabledEndpoints = 'yaoki_webhook_enabled_endpoints{service="hooks"}'
const endpointFailure = 'yaoki_webhook_longest_failure_seconds{service="hooks"}'
const disabledAlert = (reason: string): string =>
	`YaokiWebhookEndpointDisabled{service="hooks", reason="${reason}"}`
const ofEndpoints = (series: string): string => series.replace('billing', 'webhook:*')
const endpointDead = ofEndpoints(dead)
const endpointDeadAlert =
	'YaokiWebhookDeadLetters{service="relay", destination="webhook:*", cause="permanent"}'

const WEBHOOKS: readonly AlertCase[] = [
	{
		name: 'an endpoint is disabled because it is gone, the first one of a process',
		series: { [disabledEndpoints('gone')]: '_x29 1x60', [enabledEndpoints]: '9x90' },
		firing: { 29: [], 32: [disabledAlert('gone')], 60: [] },
	},
	{
		name: 'endpoints are disabled because they failed for too long',
		series: { [disabledEndpoints('failing')]: '7x29 9x60', [enabledEndpoints]: '9x90' },
		firing: { 29: [], 32: [disabledAlert('failing')], 60: [] },
	},
	{
		name: 'counter and store show the same disabled endpoint: one alert',
		series: {
			[disabledEndpoints('gone')]: '_x29 1x60',
			[storedDisabled('gone')]: '0x29 1x60',
			[enabledEndpoints]: '9x90',
		},
		firing: { 32: [disabledAlert('gone')], 60: [] },
	},
	{
		name: 'a process crashes before a scrape sees that it disabled an endpoint',
		series: { [storedDisabled('failing')]: '3x29 4x60', [enabledEndpoints]: '9x90' },
		firing: { 29: [], 32: [disabledAlert('failing')], 60: [] },
	},
	{
		name: 'an operator disables an endpoint',
		series: {
			[disabledEndpoints('operator')]: '_x29 1x60',
			[storedDisabled('operator')]: '0x29 1x60',
			[enabledEndpoints]: '9x90',
		},
		firing: { 32: [], 60: [] },
	},
	{
		name: 'disabled endpoints in the store, and telemetry has just started',
		series: { [storedDisabled('gone')]: '7x60', [enabledEndpoints]: '9x60' },
		firing: { 5: [], 30: [] },
	},
	{
		name: 'an endpoint fails for more than a day',
		series: { [endpointFailure]: '84000+60x60' },
		firing: { 30: [], 60: ['YaokiWebhookEndpointFailing{service="hooks"}'] },
	},
	{
		name: 'an endpoint fails for an hour and recovers',
		series: { [endpointFailure]: '0+60x60 0x30' },
		firing: { 59: [], 80: [] },
	},
	{
		name: 'a message to an endpoint becomes a dead letter',
		series: { [endpointDead]: '_x29 1x60' },
		firing: { 29: [], 32: [endpointDeadAlert], 60: [] },
	},
	{
		name: 'messages to an endpoint that is down wait for hours, and its circuit opens again and again',
		series: {
			[ofEndpoints(age)]: '3000+60x120',
			[ofEndpoints(lag)]: '0x120',
			[ofEndpoints(due)]: '9x120',
			[relays]: '2x120',
			[ofEndpoints(destinationReopened)]: '0+1x120',
			[endpointFailure]: '3000+60x120',
		},
		firing: { 30: [], 120: [] },
	},
	{
		name: 'relays are too slow for healthy endpoints',
		series: { [ofEndpoints(lag)]: '0+60x30', [ofEndpoints(due)]: '9x30', [relays]: '2x30' },
		firing: { 6: [], 20: ['YaokiOutboxLag{service="outbox", destination="webhook:*"}'] },
	},
]

export const ALERT_CASES: readonly AlertCase[] = [
	{ name: 'there is no series', series: {}, firing: { 30: [] } },
	...ERRORS,
	...OBJECTIVE,
	...RETRIES,
	...CIRCUITS,
	...OUTBOX,
	...WEBHOOKS,
]
