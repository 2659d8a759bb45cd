"""The league: minertia beside other programs, on the same logs and the same planted truth (`make league`)."""
