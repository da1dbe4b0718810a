/**
 * The destination of a series. Each endpoint of webhooks is a destination of its own, and an application may have
 * thousands; their series would be more than a database of metrics should keep, and nothing is asked of them one by
 * one. So all endpoints are one series. Events, logs and spans have the name of the endpoint.
 */
import { ENDPOINT_PATTERN, isEndpoint } from '../../webhooks/endpoint-names.ts'

/** Returns the value of the label `destination`: `webhook:*` for all endpoints. */
export const destinationLabel = (destination: string): string =>
	isEndpoint(destination) ? ENDPOINT_PATTERN : destination
