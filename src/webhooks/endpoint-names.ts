/**
 * The names of endpoints in an outbox. Telemetry groups by them and runs anywhere, so they are not declared beside the
 * outbox, which needs Node.
 */
const PREFIX = 'webhook:'

/** The name under which a relay serves all endpoints. */
export const ENDPOINT_PATTERN: 'webhook:*' = 'webhook:*'

/** True if a destination is an endpoint, or all of them. */
export const isEndpoint = (destination: string): boolean => destination.startsWith(PREFIX)

export const destinationOf = (id: string): string => `${PREFIX}${id}`

export const endpointIdOf = (destination: string): string => destination.slice(PREFIX.length)
